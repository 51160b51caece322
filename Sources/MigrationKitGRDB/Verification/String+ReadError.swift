extension String {
    /// Whether a finding of `quick_check`, `integrity_check` or SQLCipher's own check means that
    /// the disk can't read a page, which isn't damage: `Tree 4 page 78: unable to get the page.
    /// error code=8458`, `error reading 4096 bytes from file page 25 at offset 98304`.
    /// <https://www.sqlite.org/rescode.html#ioerr>
    package var saysReadError: Bool {
        if hasPrefix("error reading ") { return true }
        return matches(of: /error code=(\d+)/).contains { match in
            Int(match.1).map { $0 & 0xff == 10 } ?? false
        }
    }
}
