extension ErrorCode {
    /// The code of an error of SQLite's that doesn't come from the SQL, but from another process, the
    /// disk or permissions.
    ///
    /// - Parameter resultCode: The result code, which may be an extended one.
    /// - Returns: `nil` for every other error.
    package init?(sqlite resultCode: Int32) {
        switch PrimaryResultCode(rawValue: resultCode & 0xff) {
        case .busy, .locked: self.init("locked", .busy)
        case .full: self.init("diskFull", .inputOutput)
        // The locks of a write-ahead log can't be had: https://www.sqlite.org/rescode.html#protocol
        case .readWrite, .corrupt, .cannotOpen, .protocol: self.init("inputOutput", .inputOutput)
        case .readOnly, .permission, .authorization: self.init("readOnly", .noPermission)
        case nil: return nil
        }
    }

    /// SQLite's numbers, since this target has no SQLite. <https://www.sqlite.org/rescode.html>
    private enum PrimaryResultCode: Int32 {
        case permission = 3
        case busy = 5
        case locked = 6
        case readOnly = 8
        case readWrite = 10
        case corrupt = 11
        case full = 13
        case cannotOpen = 14
        case `protocol` = 15
        case authorization = 23
    }
}
