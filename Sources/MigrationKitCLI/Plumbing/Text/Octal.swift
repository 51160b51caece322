extension UInt32 {
    /// A file's permissions, in octal digits.
    var octalMode: String {
        let digits = String(self, radix: 8)
        return String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
    }
}
