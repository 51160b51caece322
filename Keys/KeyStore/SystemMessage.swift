import Glibc

/// The system's text for an errno, in words that can stand at the end of a line.
func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
