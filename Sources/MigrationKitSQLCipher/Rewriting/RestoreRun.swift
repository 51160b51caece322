import Foundation

/// One run of a ``DatabaseRestore``.
struct RestoreRun {
    private let form: DatabaseForm
    private let target: DatabaseForm
    private let options: DatabaseBackup.Options
    private let monitor: ConversionMonitor
    private let file: DatabaseFile
    private let backup: DatabaseFile
    private let original: DatabaseFile?
    private let start = ContinuousClock.now

    init(_ restore: DatabaseRestore) throws {
        form = restore.form
        options = restore.options
        monitor = options.monitor
        target = try form.with(restore.newKey, of: restore.backupPath)
        backup = try DatabaseFile(restore.backupPath).resolved()
        let named = DatabaseFile(restore.path)
        try named.checkLink()
        let file = try named.size() == nil ? named : named.resolved()
        self.file = file
        original = try restore.keptOriginalPath.map {
            try ConversionFolder.freePlace($0, forOriginalOf: file)
        }
    }

    func run() throws -> RestoreReport {
        if let identity = try FileIdentity.of(file.absolutePath) {
            guard try FileIdentity.of(backup.absolutePath)?.isSameFile(as: identity) != true
            else {
                throw DatabaseConversionError.sameFile(path: file.path)
            }
            try file.checkAccess(forWriting: true)
            guard geteuid() == 0 || identity.owner == geteuid() else {
                throw DatabaseConversionError.otherOwner(path: file.path, owner: identity.owner)
            }
        } else {
            _ = try ConversionFolder.freeName(file.path)
        }
        try ConversionFolder.checkLength(of: file.absolutePath)
        return try explaining(source: backup, form, file: file) {
            try monitor.underMigrationLock(of: file) {
                guard let original, try !original.isBeside(file) else { return try restore() }
                return try monitor.underMigrationLock(of: original, restore)
            }
        }
    }

    private func restore() throws -> RestoreReport {
        let folder = ConversionFolder(of: file.absolutePath, for: file.absolutePath)
        folder.removeLeftovers()
        if let original {
            try ConversionFolder(ofOriginal: original, of: file).removeLeftovers()
        }
        let source = try RestingDatabase(backup, form: form, monitor: monitor)
        let occupied =
            try file.size() == nil
            ? nil : OccupiedPlace(file, isKept: original != nil, monitor: monitor)
        let hasOrphans = try occupied == nil && file.hasJournal
        let temporary = try folder.makeFile()
        defer { folder.remove(temporary) }
        let copy = ConversionCopy(
            path: temporary,
            form: target,
            options: options.opening(target, isExclusive: true),
            monitor: monitor
        )
        let findings = try explainingReadFailures(of: temporary, for: file, from: backup) {
            try copy.fillLeavingOutUnused(of: backup, form) { unused in
                // Once a page has failed, its connection is of no use any more.
                let source =
                    try unused == nil
                    ? source : RestingDatabase(backup, form: form, monitor: monitor)
                try source.fill(copy, without: unused)
            }
            return try copy.checkPages(against: nil, of: backup.path)
        }
        try folder.finish(temporary, mode: 0o600, owner: occupied?.identity)
        let byteCount = FileManager.default.size(of: temporary)
        try monitor.checkCancellation()
        if let occupied {
            // Whatever is in it by then.
            try occupied.repeatingIfChanged { _ in
                try occupied.replace(by: temporary, in: folder, keepingAs: original)
            }
        } else if hasOrphans {
            // What a file left behind that was deleted is not the new one's. It goes under SQLite's
            // lock on the name: another program may be making its database there just now.
            let place = try OccupiedPlace(reserving: file, monitor: monitor)
            defer { place.free() }
            do {
                try place.replace(by: temporary, in: folder, keepingAs: nil)
            } catch is ChangedWhileWaiting {
                throw DatabaseConversionError.exists(path: file.path)
            }
        } else {
            try folder.place(temporary, at: file.absolutePath)
        }
        return RestoreReport(
            path: file.path,
            hasReplaced: occupied != nil,
            originalPath: occupied == nil ? nil : original?.path,
            byteCount: byteCount,
            otherNameCount: occupied?.identity.otherNameCount ?? 0,
            formerMode: occupied?.identity.permissions,
            findings: findings,
            seconds: (.now - start) / .seconds(1)
        )
    }
}
