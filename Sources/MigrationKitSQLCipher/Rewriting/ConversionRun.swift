import MigrationKitPages
import Foundation
import GRDB

/// One run of a ``DatabaseConversion``, or of what has one in its middle.
struct ConversionRun {
    private let options: DatabaseConversion.Options
    private let monitor: ConversionMonitor
    /// The database, its links resolved.
    let file: DatabaseFile
    /// Where the new file goes; `nil` for the database's own place.
    private let output: DatabaseFile?
    private let original: DatabaseFile?
    private let start = ContinuousClock.now

    init(_ path: String, options: DatabaseConversion.Options) throws {
        self.options = options
        monitor = ConversionMonitor(
            timeout: options.timeout,
            cancellation: options.cancellation,
            observer: options.observer
        )
        let file = try DatabaseFile(path).resolved()
        self.file = file
        output = try options.outputPath.map { try ConversionFolder.freePlace($0) }
        original =
            try output == nil
            ? options.keptOriginalPath.map {
                try ConversionFolder.freePlace($0, forOriginalOf: file)
            } : nil
    }

    /// Runs `body` under the lock of the database, and of the file that goes to another folder.
    func underLock<Value>(_ body: () throws -> Value) throws -> Value {
        let identity = try FileIdentity.of(file.absolutePath)
        try ConversionFolder.checkLength(of: file.absolutePath)
        try file.checkAccess(forWriting: true)
        if output == nil, geteuid() != 0, let identity, identity.owner != geteuid() {
            throw DatabaseConversionError.otherOwner(path: file.path, owner: identity.owner)
        }
        do {
            return try locked(file) {
                guard
                    let other = try output ?? original.flatMap({ try $0.isBeside(file) ? nil : $0 })
                else { return try body() }
                return try locked(other) { try body() }
            }
        } catch let error as DatabaseError {
            throw EncryptedDatabaseError(error, path: file.path) ?? error
        } catch let code as CipherCode {
            throw EncryptedDatabaseError(code, path: file.path)
        } catch EncryptedDatabaseError.wrongKey(let path) where path == file.absolutePath {
            // The key was read before the lock was free. The process that held it has rewritten the
            // database.
            guard let identity, let current = try FileIdentity.of(file.absolutePath),
                !current.isSameFile(as: identity)
            else { throw EncryptedDatabaseError.wrongKey(path: path) }
            throw DatabaseConversionError.replacedMeanwhile(path: path)
        }
    }

    // MARK: - Before

    private func locked<Value>(_ file: DatabaseFile, _ body: () throws -> Value) throws -> Value {
        try monitor.underMigrationLock(of: file, body)
    }

    private func openingOptions(
        of form: DatabaseForm,
        isExclusive: Bool
    ) -> EncryptedDatabase.Options {
        var opening = EncryptedDatabase.Options(
            cipher: form.cipher,
            // What is waited for is waited for outside, where it can be cancelled.
            busyTimeout: 0.1,
            functions: options.functions,
            collations: options.collations
        )
        opening.isExclusive = isExclusive
        return opening
    }

    private func openSource(of conversion: DatabaseConversion) throws -> ConversionSource {
        do {
            return try openSource(conversion.source, of: conversion)
        } catch EncryptedDatabaseError.encrypted where !conversion.source.isEncrypted {
            throw DatabaseConversionError.notPlaintext(path: file.path)
        } catch EncryptedDatabaseError.olderFormat(let path, let version) {
            guard conversion.isUpgrade, let key = conversion.source.key else {
                throw EncryptedDatabaseError.olderFormat(path: path, cipherCompatibility: version)
            }
            return try openSource(.encrypted(key, cipher: .sqlCipher(version)), of: conversion)
        }
    }

    private func openSource(
        _ form: DatabaseForm,
        of conversion: DatabaseConversion
    ) throws -> ConversionSource {
        let source = try ConversionSource(
            file,
            form: form,
            options: openingOptions(of: form, isExclusive: true),
            monitor: monitor
        )
        guard conversion.isUpgrade, form == conversion.target else { return source }
        try source.queue.close()
        throw DatabaseConversionError.alreadyCurrent(path: file.path)
    }

    // MARK: - The Conversion

    /// Converts. The caller holds the lock.
    ///
    /// - Parameter conversion: Says what to do, once there is a file for the result. As long as that
    ///   has its temporary name, it is known that it has not taken the database's place.
    func convert(_ conversion: () throws -> DatabaseConversion) throws -> ConversionReport {
        let place = output ?? file
        let folder = ConversionFolder(of: place.absolutePath, for: place.absolutePath)
        let originals = try original.map { try ConversionFolder(ofOriginal: $0, of: file) }
        // Those of the runs that were killed, before anything that may fail.
        ConversionFolder(of: file.absolutePath, for: file.absolutePath).removeLeftovers()
        folder.removeLeftovers()
        originals?.removeLeftovers()

        let temporary = try folder.makeFile()
        defer { folder.remove(temporary) }
        let conversion = try conversion()
        let source = try openSource(of: conversion)
        let copy = ConversionCopy(
            path: temporary,
            form: conversion.target,
            // Nobody else knows of the file, which several connections look through.
            options: openingOptions(of: conversion.target, isExclusive: false),
            monitor: monitor
        )
        let (content, bytesAfter) = try source.repeatingIfChanged { isRepeated in
            if isRepeated, truncate(temporary, 0) != 0 {
                throw ConversionFolder.cannotWrite(place.path, errno)
            }
            let content = try explainingReadFailures(of: temporary, for: place, from: file) {
                try copy.fill(from: source)
                return try copy.check(against: source)
            }
            let mode = source.identity.mode & 0o600
            try folder.finish(temporary, mode: mode, owner: source.identity)
            let bytesAfter = FileManager.default.size(of: temporary)
            try monitor.checkCancellation()
            if output != nil {
                try folder.place(temporary, at: place.absolutePath)
                try source.queue.close()
            } else {
                try source.replace(by: temporary, in: folder, keepingAs: original)
            }
            return (content, bytesAfter)
        }
        return ConversionReport(
            path: place.path,
            originalPath: original?.path,
            otherNameCount: output == nil ? source.identity.otherNameCount : 0,
            formerMode: output == nil ? source.identity.permissions : nil,
            bytesBefore: source.byteCount,
            bytesAfter: bytesAfter,
            tableCount: content.tables.count,
            rowCount: content.rowCount,
            seconds: (.now - start) / .seconds(1),
            phaseSeconds: monitor.phaseSeconds
        )
    }
}
