import MigrationKitCommon
import MigrationKitPages

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
            options: options.shared
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
            tableCount: content.tableCount,
            rowCount: content.rowCount,
            seconds: rewrite.seconds,
            phaseSeconds: rewrite.monitor.phaseSeconds
        )
    }

    private func openSource(by rewrite: Rewrite) throws -> LockedSource {
        do {
            return try openSource(source, by: rewrite)
        } catch EncryptedDatabaseError.encrypted where !source.isEncrypted {
            throw DatabaseConversionError.notPlaintext(path: rewrite.file.path)
        } catch EncryptedDatabaseError.olderFormat(let path, let version) {
            guard isUpgrade, let key = source.key else {
                throw EncryptedDatabaseError.olderFormat(path: path, cipherCompatibility: version)
            }
            return try openSource(.encrypted(key, cipher: .sqlCipher(version)), by: rewrite)
        }
    }

    private func openSource(_ form: DatabaseForm, by rewrite: Rewrite) throws -> LockedSource {
        let source = try LockedSource(
            rewrite.file,
            form: form,
            options: rewrite.options.opening(form),
            monitor: rewrite.monitor
        )
        guard isUpgrade, form == target else { return source }
        try source.unlock()
        throw DatabaseConversionError.alreadyCurrent(path: rewrite.file.path)
    }
}

extension DatabaseConversion.Options {
    /// What all rewritings have in common.
    fileprivate var shared: DatabaseBackup.Options {
        DatabaseBackup.Options(
            timeout: timeout,
            functions: functions,
            collations: collations,
            cancellation: cancellation,
            observer: observer
        )
    }
}
