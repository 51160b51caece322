import Foundation

/// Writes all bytes to a descriptor.
///
/// - Returns: `nil`, or the errno of what went wrong.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
        let count = write(descriptor, rest.baseAddress, rest.count)
        if count >= 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            continue
        }
        switch errno {
        case EINTR:
            continue
        case EAGAIN:
            // Somebody who shares the descriptor doesn't want to wait; a result has to.
            var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&room, 1, -1)
        case let code:
            return code
        }
    }
    return nil
}
