import Foundation

/// The names in a folder, without `.` and `..`.
///
/// Foundation treats a read error as the end of the folder, and a migration that isn't listed would
/// seem not to exist. <https://man7.org/linux/man-pages/man3/readdir.3.html>
///
/// - Throws: A `POSIXError`.
package func namesInFolder(_ path: String) throws(POSIXError) -> [String] {
    guard let stream = opendir(path) else { throw POSIXError.last }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
        errno = 0
        guard let entry = readdir(stream) else { break }
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                String(cString: $0)
            }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw POSIXError.last }
    return names
}
