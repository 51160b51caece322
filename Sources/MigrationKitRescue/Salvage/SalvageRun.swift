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
        // An empty file may have lost its content to a crash, and its log may have all of it.
        let path = file.absolutePath
        let hasJournal = SalvageFiles.suffixes.contains {
            FileManager.default.size(of: path + $0) > 0
        }
        guard look.size != 0 || hasJournal else {
            throw EncryptedDatabaseError.empty(path: salvage.path)
        }
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
        let files = try SalvageFiles(file.absolutePath)
        guard files.main != nil || files.log != nil || files.journal != nil else {
            throw EncryptedDatabaseError.empty(path: file.path)
        }
        let key = try explainingReadFailures(
            of: nil,
            for: output,
            from: file,
            suspecting: { $0 is DatabaseSalvageError }
        ) {
            try openingKey(of: files)
        }
        let (candidate, journal) = try read(files, key)
        let content = candidate.content
        let (named, reason) = try nameTables(in: content)

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
            saltSource: key.saltSource,
            provesPages: key.form.provesPages,
            pageSize: key.form.pageSize,
            pageCount: filling.pageCount,
            wrongPageCount: filling.wrongPageCount,
            damagedPages: filling.damagedPages(),
            missingPageCount: filling.missingPageCount,
            journal: journal,
            isSchemaWhole: filling.isSchemaWhole,
            namedTables: named,
            unnamedReason: reason,
            tables: filling.tables(),
            lostAndFound: filling.lostAndFound,
            unmade: filling.unmade + unsound,
            seconds: rewrite.seconds
        )
    }

    /// Names tables whose names are lost by the migrations that made them.
    ///
    /// - Returns: Their names, and why there can be none.
    private func nameTables(in content: SalvageContent) throws -> ([String], String?) {
        guard let runner = salvage.runner, !content.isSchemaWhole else { return ([], nil) }
        var configuration = Configuration()
        let (functions, collations) = (salvage.options.functions, salvage.options.collations)
        configuration.prepareDatabase { db in
            for function in functions { db.add(function: function) }
            for collation in collations { db.add(collation: collation) }
        }
        do {
            return (try content.nameTables(by: runner, configuration), nil)
        } catch let error as CancellationError {
            throw error
        } catch {
            return ([], error.localizedDescription)
        }
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

    private func openingKey(of files: SalvageFiles) throws -> SalvageKey {
        var start = [UInt8](repeating: 0, count: FileBeginning.count)
        let size = files.main?.size ?? 0
        let found = try files.main?.read(at: 0, count: min(start.count, size)) ?? []
        start.replaceSubrange(..<found.count, with: found)
        let hasHeader = FileBeginning.hasPlaintextHeader(start, fileSize: size)
        switch salvage.form.content {
        case .plaintext:
            guard !hasHeader else {
                throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: nil)
            }
            guard let key = try SalvageKey(plaintext: files) else {
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
                encrypted: files,
                keys: [key] + [salvage.secondKey].compactMap { $0 },
                cipher: cipher,
                monitor: monitor
            )
            guard let found else {
                let other = EncryptedDatabaseError.multipleCiphers(start, path: file.path)
                throw other ?? DatabaseSalvageError.opensNothing(path: file.path) as any Error
            }
            if let cipher = found.cipher, cipher.obstacle == .otherCipher {
                throw EncryptedDatabaseError.otherSettings(path: file.path, cipher: cipher)
            }
            return found
        }
    }

    /// Reads the pages, with the log or the journal beside the file unless it isn't the file's own.
    private func read(
        _ files: SalvageFiles,
        _ key: SalvageKey
    ) throws -> (SalvageCandidate, SalvageReport.Journal?) {
        let form = key.form
        let tick: (Int) throws -> Void = { _ in try monitor.checkCancellation() }
        var versions = PageVersions()
        var (beside, kind): (RawFile?, SalvageReport.Journal.Kind) = (nil, .writeAheadLog)
        if let log = files.log {
            versions = try PageVersions(log: log, form: form, tick: tick)
            beside = log
        }
        var seemsCommitted = false
        if versions.frameCount == 0, let journal = files.journal {
            versions = try PageVersions(journal: journal, form: form, tick: tick)
            (beside, kind) = (journal, .rollback)
            seemsCommitted = try RollbackJournal.joining(of: journal) == .committed
        }
        func candidate(_ beside: RawFile?, _ versions: PageVersions) throws -> SalvageCandidate {
            try SalvageCandidate(
                SalvagePages(file: files.main, beside: beside, versions: versions, form: form),
                monitor: monitor
            )
        }
        guard versions.frameCount > 0 || !versions.damagedFrames.isEmpty else {
            return (try candidate(beside, versions), nil)
        }
        var journal = SalvageReport.Journal(
            kind: kind,
            frameCount: versions.frameCount,
            damagedFrames: versions.damagedFrames
        )
        guard versions.offsets.greatestPage != nil else {
            if versions.frameCount > 0 { journal.leftOut = .otherKey }
            return (try candidate(nil, PageVersions()), journal)
        }
        var with = try candidate(beside, versions)
        let without = try files.main.map { _ in try candidate(nil, PageVersions()) }
        let isDamaged = !versions.damagedFrames.isEmpty
        if kind == .writeAheadLog, let log = beside, isDamaged, !with.isSound {
            // What SQLite reads of it: the frames before the first damaged one.
            let intact = try PageVersions(log: log, form: form, untilDamage: true, tick: tick)
            let sqlites = intact.frameCount == 0 ? without : try candidate(log, intact)
            if let sqlites, sqlites.isSound, sqlites.rowCount > with.rowCount {
                with = sqlites
                if intact.frameCount == 0 { journal.leftOut = .damaged }
            }
        }
        guard let without else { return (with, journal) }
        // Its super-journal is gone. A database that only the undoing makes whole wasn't left by a finished
        // change.
        if seemsCommitted, without.isSound || with.rowCount <= without.rowCount {
            return (without, nil)
        }
        if journal.leftOut == nil {
            journal.leftOut = with.reasonToLeaveOut(
                kind,
                isOfOtherState: isDamaged
                    ? try !continues(versions, of: beside, files.main, form)
                    : isOfOtherState(kind, key),
                isWhole: !isDamaged && with.pages.readsAllBeside,
                for: without
            )
        }
        (journal.rowCountWith, journal.rowCountWithout) = (with.rowCount, without.rowCount)
        return (journal.leftOut == nil ? with : without, journal)
    }

    /// Whether the log or the journal beside the file belongs to another state of it, so that no opening
    /// takes it. What can't be read says nothing.
    private func isOfOtherState(_ kind: SalvageReport.Journal.Kind, _ key: SalvageKey) -> Bool {
        guard !salvage.form.isEncrypted || key.rawKey != nil, let look = try? file.look() else {
            return false
        }
        let ownership = JournalOwnership(look, key: key.rawKey, cipher: key.cipher ?? .current)
        let finding = try? ownership.finding()
        return finding?.suffix == (kind == .writeAheadLog ? "-wal" : "-journal")
            && [.state, .salt].contains(finding?.mismatch)
    }

    /// Whether a damaged log may continue the file. SQLite itself takes no frame behind the damage, so that no
    /// opening tells. A header that makes sense is whole, also in a page that isn't.
    private func continues(
        _ versions: PageVersions,
        of log: RawFile?,
        _ main: RawFile?,
        _ form: PageForm
    ) throws -> Bool {
        func header(_ page: [UInt8]) -> DatabaseHeader? {
            form.content(page, number: 1).flatMap(DatabaseHeader.init)
        }
        func page(_ offset: Int) throws -> [UInt8]? {
            try log?.read(at: offset, count: form.pageSize)
        }
        guard let first = try versions.firstPages.first.flatMap(page).flatMap(header),
            let current = try main?.read(at: 0, count: form.pageSize), let own = header(current)
        else { return true }
        return try first.follows(own, current)
            || versions.firstPages.contains { try page($0) == current }
    }

    /// The form of the new file: that of the damaged one, with the settings that open it.
    private func target(_ key: SalvageKey) -> DatabaseForm {
        switch salvage.form.content {
        case .plaintext: return .plaintext(pageSize: key.form.pageSize)
        case .encrypted(let secret, let cipher):
            return .encrypted(salvage.newKey ?? secret, cipher: (key.cipher ?? cipher).ofNewFile)
        }
    }
}
