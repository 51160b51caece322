/// One thing that a command did to the disk, or to what outlasts a power cut beside it.
///
/// Files are numbered, as a file system numbers its inodes: a name is an entry of the folder, and
/// what becomes of the entry has nothing to do with what becomes of the file's content.
package struct Operation: Sendable {
    package enum Kind: Sendable {
        /// A new, empty file, and its entry.
        case create(file: Int, name: String)
        case write(file: Int, offset: Int, bytes: [UInt8])
        /// Cuts a file, or makes it longer with zeros.
        case setSize(file: Int, size: Int)
        /// A further entry of a file.
        case link(file: Int, name: String)
        case rename(file: Int, from: String, to: String)
        case unlink(name: String)
        /// The file's content and size so far are on the disk. It covers the operations before
        /// `begin`: what another thread wrote during the call may be left out.
        case syncFile(file: Int, begin: Int)
        /// The folder's entries so far are on the disk.
        case syncFolder(begin: Int)
        /// The key store changed, and answers with this from now on.
        case keyStore([UInt8])
        /// The command wrote this to its standard output, which is that something is done.
        case said([UInt8])
        case exited(Int)
    }

    package var kind: Kind
    /// The functions that called it, innermost first, as strace names them.
    package var stack: [String] = []

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// Whether it changes what is on the disk.
    var isChange: Bool {
        switch kind {
        case .create, .write, .setSize, .link, .rename, .unlink: true
        case .syncFile, .syncFolder, .keyStore, .said, .exited: false
        }
    }

    package var isSync: Bool {
        switch kind {
        case .syncFile, .syncFolder: true
        default: false
        }
    }

    /// Whether the command says that something is done.
    var saysDone: Bool {
        switch kind {
        case .said, .exited: true
        default: false
        }
    }

    /// The file whose content or size it changes; `nil` for an entry of the folder.
    var changedFile: Int? {
        switch kind {
        case .write(let file, _, _), .setSize(let file, _): file
        default: nil
        }
    }
}

extension Operation: CustomStringConvertible {
    package var description: String {
        switch kind {
        case .create(let file, let name): "create file \(file) as \(name)"
        case .write(let file, let offset, let bytes):
            "write \(bytes.count) bytes at \(offset) of file \(file)"
        case .setSize(let file, let size): "set size of file \(file) to \(size)"
        case .link(let file, let name): "link file \(file) as \(name)"
        case .rename(let file, let from, let to): "rename file \(file) from \(from) to \(to)"
        case .unlink(let name): "unlink \(name)"
        case .syncFile(let file, let begin): "sync file \(file), begun at \(begin)"
        case .syncFolder(let begin): "sync folder, begun at \(begin)"
        case .keyStore: "key store changes"
        case .said: "says that it is done"
        case .exited(let status): "exits with \(status)"
        }
    }
}
