import MigrationKitCommon
import MigrationKitPages
import GRDB

extension DatabaseConversion {
    /// What rewrites a database by these options.
    static func rewrite(_ path: String, options: Options) throws -> Rewrite {
        let file = try DatabaseFile(path).resolved()
        let output = try options.outputPath.map { try DatabaseFile.freePlace($0) }
        let original =
            try output == nil
            ? options.keptOriginalPath.map {
                try DatabaseFile.freePlace($0, forOriginalOf: file)
            } : nil
        let rewrite = try Rewrite(
            of: file,
            isLocked: true,
            to: output ?? file,
            keepingAs: original,
            monitor: options.monitor
        )
        try output == nil ? file.checkIsReplaceable() : file.checkAccess(forWriting: true)
        return rewrite
    }

    /// Converts the database. The caller holds the locks.
    ///
    /// - Parameter new: The file for the result. As long as it has its hidden name, it is known that it
    ///   has not taken the database's place.
    func write(_ new: NewFile, by rewrite: Rewrite) throws -> ConversionReport {
        let source = try openSource(by: rewrite)
        let isReplaced = options.outputPath == nil
        let (content, byteCount) = try rewrite.write(
            new,
            as: target,
            options.opening(target),
            from: source,
            at: isReplaced ? .locked(source) : .free
        )
        return ConversionReport(
            path: rewrite.place.path,
            originalPath: rewrite.original?.path,
            otherNameCount: isReplaced ? source.identity.otherNameCount : 0,
            formerMode: isReplaced ? source.identity.permissions : nil,
            bytesBefore: source.byteCount,
            bytesAfter: byteCount,
            tableCount: content.tables.count,
            rowCount: content.rowCount,
            seconds: rewrite.seconds,
            phaseSeconds: rewrite.monitor.phaseSeconds
        )
    }

    private func openSource(by rewrite: Rewrite) throws -> LockedSource {
        let file = rewrite.file
        do {
            return try openSource(file, source, rewrite.monitor)
        } catch EncryptedDatabaseError.encrypted where !source.isEncrypted {
            throw DatabaseConversionError.notPlaintext(path: file.path)
        } catch EncryptedDatabaseError.olderFormat(let path, let version) {
            guard isUpgrade, let key = source.key else {
                throw EncryptedDatabaseError.olderFormat(path: path, cipherCompatibility: version)
            }
            let older = try DatabaseForm.encrypted(key, cipher: .sqlCipher(version))
            return try openSource(file, older, rewrite.monitor)
        }
    }

    private func openSource(
        _ file: DatabaseFile,
        _ form: DatabaseForm,
        _ monitor: ConversionMonitor
    ) throws -> LockedSource {
        let source = try LockedSource(
            file,
            form: form,
            options: options.opening(form),
            monitor: monitor
        )
        guard isUpgrade, form == target else { return source }
        try source.close()
        throw DatabaseConversionError.alreadyCurrent(path: file.path)
    }
}

extension DatabaseConversion.Options {
    var monitor: ConversionMonitor {
        ConversionMonitor(timeout: timeout, cancellation: cancellation, observer: observer)
    }

    fileprivate func opening(_ form: DatabaseForm) -> EncryptedDatabase.Options {
        .rewriting(form, functions: functions, collations: collations)
    }
}

extension EncryptedDatabase.Options {
    /// How the source and the copy of a rewriting are opened.
    static func rewriting(
        _ form: DatabaseForm,
        functions: [DatabaseFunction],
        collations: [DatabaseCollation]
    ) -> EncryptedDatabase.Options {
        EncryptedDatabase.Options(
            cipher: form.cipher,
            // What is waited for is waited for outside, where it can be cancelled.
            busyTimeout: 0.1,
            functions: functions,
            collations: collations
        )
    }
}
