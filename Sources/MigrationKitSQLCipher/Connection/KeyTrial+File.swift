import MigrationKitPages

extension KeyTrial.Evidence {
    /// A file as it is on the disk, with the first page that SQLite takes from a journal beside it.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if something can't be read; the closure of the sample, too.
    package convenience init(_ look: FileLook) throws {
        let file = look.file
        @Sendable func reading<Value>(
            _ read: (borrowing CipherConnection) throws(CipherCode) -> Value
        ) throws
            -> Value
        {
            do throws(CipherCode) {
                return try read(try CipherConnection(immutable: file.absolutePath))
            } catch {
                throw FileInspection.cannotRead(file, error)
            }
        }
        let (start, size) = try reading { connection throws(CipherCode) in
            (
                try connection.bytes(at: 0, count: KeyTrial.startCount),
                try connection.fileSize()
            )
        }
        var recovered: [UInt8]?
        if case .firstPage(let page) = try Recovery(by: look) { recovered = page }
        self.init(start: start, size: size, recovered: recovered) { pageSize in
            try reading { connection throws(CipherCode) in
                var pages: [Page] = []
                for number in PageAuthentication.sample(ofPages: size / pageSize) {
                    let offset = (number - 1) * pageSize
                    pages.append((number, try connection.bytes(at: offset, count: pageSize)))
                }
                return pages
            }
        }
    }
}
