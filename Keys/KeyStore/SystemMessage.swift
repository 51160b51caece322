import Glibc

/// The system's text for an errno, worded for the end of a line.
func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
