/// A time as text: in milliseconds below a second.
func duration(_ seconds: Double) -> String {
    if seconds < 1 {
        return "\(Int((seconds * 1000).rounded())) ms"
    }
    let tenths = Int((seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
}
