import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher

/// One run of a ``DatabaseSalvage``.
struct SalvageRun {
    private let salvage: DatabaseSalvage
    private let monitor: ConversionMonitor
    private let file: DatabaseFile
    private let output: DatabaseFile
    private let rewrite: Rewrite

    init(_ salvage: DatabaseSalvage) throws {
        self.salvage = salvage
        file = try DatabaseFile(salvage.path).resolved()
        let look = try file.look()
        guard look.size != 0 else { throw EncryptedDatabaseError.empty(path: salvage.path) }
        try look.checkAccess(forWriting: false)
        output = try DatabaseFile.freePlace(salvage.outputPath)
        // SQLite reads nothing but the new file.
        rewrite = try Rewrite(of: output, to: output, options: salvage.options)
        monitor = rewrite.monitor
    }

    func run() throws -> SalvageReport {
        // Where nothing can be written beside the file, nobody migrates it either.
        guard try file.look().isFolderWritable else { return try rewrite.underLocks(bringBack) }
        return try monitor.underMigrationLock(of: file) { try rewrite.underLocks(bringBack) }
    }

    // MARK: -

    private func bringBack() throws -> SalvageReport {
        let new = try rewrite.begin()
        defer { new.remove() }
        let identity = try file.identityNotOpenHere()
        // A program that has it open might write to it.
        try monitor.waitUntilUnused(file, identity)
        let stamp = try file.stamp
        guard let bytes = try RawFile.find(file.absolutePath).get() else {
            throw EncryptedDatabaseError.noSuchFile(path: file.path)
        }
        let key = try explainingReadFailures(
            of: nil,
            for: output,
            from: file,
            suspecting: { $0 is DatabaseSalvageError }
        ) {
            try openingKey(of: bytes)
        }
        let (pages, journal) = try readPages(bytes, key.form)
        let content = try SalvageContent(pages, monitor: monitor)

        let copy = SalvageCopy(
            path: new.path,
            form: target(key),
            options: salvage.options,
            monitor: monitor
        )
        let (filling, unsound) = try explainingReadFailures(
            of: new.path,
            for: output,
            from: output,
            suspecting: { $0 is DatabaseSalvageError }
        ) {
            try fill(copy, key.form.pageSize, content)
        }
        try new.finish(mode: 0o600, owner: (user: identity.owner, group: identity.group))
        try monitor.checkCancellation()
        guard try file.stamp == stamp else {
            throw DatabaseConversionError.changedMeanwhile(path: file.path)
        }
        try new.place(at: output.absolutePath)
        return SalvageReport(
            path: file.path,
            outputPath: output.path,
            salt: key.salt,
            provesPages: key.form.provesPages,
            pageSize: key.form.pageSize,
            pageCount: pages.pageCount,
            damagedPages: filling.damagedPages(),
            missingPageCount: pages.states.dropFirst().count { $0 == .missing },
            journal: journal,
            isSchemaWhole: filling.isSchemaWhole,
            tables: filling.tables(),
            lostAndFound: filling.lostAndFound,
            unmade: filling.unmade + unsound,
            seconds: rewrite.seconds
        )
    }

    /// Fills the new file, and checks it.
    ///
    /// - Returns: Also the findings that may have existed before.
    private func fill(
        _ copy: SalvageCopy,
        _ pageSize: Int,
        _ content: SalvageContent
    ) throws -> (SalvageFilling, [SalvageReport.Unmade]) {
        let filling = try copy.fill(
            pageSize: pageSize,
            encoding: content.encoding,
            header: content.header
        ) { db in
            let filling = try SalvageFilling(content, in: db, monitor: monitor)
            try monitor.watching(db) { try filling.run() }
            return filling
        } finish: { db, filling in
            try monitor.watching(db) { try filling.makeTheRest() }
        }
        let unsound = try copy.check(
            isWAL: content.header?.journalMode == .wal,
            virtualTables: content.objects.compactMap { $0.module == nil ? nil : $0.name }
        ).filter { found in !filling.unmade.contains { $0.name == found.name } }
        return (filling, unsound)
    }

    private func openingKey(of bytes: RawFile) throws -> SalvageKey {
        var start = [UInt8](repeating: 0, count: FileBeginning.count)
        let found = try bytes.read(at: 0, count: min(start.count, bytes.size)) ?? []
        start.replaceSubrange(..<found.count, with: found)
        let hasHeader = FileBeginning.hasPlaintextHeader(start, fileSize: bytes.size)
        switch salvage.form.content {
        case .plaintext:
            guard !hasHeader else {
                throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: nil)
            }
            guard let key = try SalvageKey(plaintext: bytes) else {
                throw DatabaseSalvageError.noDatabase(path: file.path)
            }
            return key
        case .encrypted(let key, let cipher):
            guard !hasHeader || cipher.hasPlaintextHeader else {
                throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: nil)
            }
            let isPlaintext =
                cipher.hasPlaintextHeader
                ? FileBeginning.isCertainlyPlaintext(start)
                : start.starts(with: DatabaseHeader.magic)
            guard !isPlaintext else { throw EncryptedDatabaseError.plaintext(path: file.path) }
            let found = try SalvageKey(
                encrypted: bytes,
                key: key,
                cipher: cipher,
                monitor: monitor
            )
            guard let found else { throw DatabaseSalvageError.opensNothing(path: file.path) }
            return found
        }
    }

    private func readPages(
        _ bytes: RawFile,
        _ form: PageForm
    ) throws -> (SalvagePages, SalvageReport.Journal?) {
        let tick: (Int) throws -> Void = { _ in try monitor.checkCancellation() }
        var versions = PageVersions()
        var (beside, kind): (RawFile?, SalvageReport.Journal.Kind) = (nil, .writeAheadLog)
        if let log = try RawFile.find(file.absolutePath + "-wal").get() {
            versions = try PageVersions(log: log, form: form, tick: tick)
            beside = log
        }
        if versions.frameCount == 0,
            let journal = try RawFile.find(file.absolutePath + "-journal").get()
        {
            versions = try PageVersions(journal: journal, form: form, tick: tick)
            (beside, kind) = (journal, .rollback)
        }
        let pages = SalvagePages(file: bytes, beside: beside, versions: versions, form: form)
        guard versions.frameCount > 0 || !versions.damagedFrames.isEmpty else {
            return (pages, nil)
        }
        let journal = SalvageReport.Journal(
            kind: kind,
            frameCount: versions.frameCount,
            damagedFrames: versions.damagedFrames
        )
        return (pages, journal)
    }

    /// The form of the new file: that of the damaged one, with the settings that open it.
    private func target(_ key: SalvageKey) -> DatabaseForm {
        switch salvage.form.content {
        case .plaintext: return .plaintext(pageSize: key.form.pageSize)
        case .encrypted(let secret, let cipher):
            return .encrypted(salvage.newKey ?? secret, cipher: key.cipher ?? cipher)
        }
    }
}
