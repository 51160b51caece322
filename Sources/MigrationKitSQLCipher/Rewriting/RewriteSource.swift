import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys

/// What a database is written anew from.
protocol RewriteSource {
    /// What is known of the copy at the end.
    associatedtype Content

    var file: DatabaseFile { get }

    /// Who gets the new file, unless it replaces one; `nil` for the process's own user.
    var owner: FileIdentity? { get }

    /// The mode of the new file.
    var mode: mode_t { get }

    /// Copies everything into a new file, which is empty, and checks that.
    ///
    /// - Parameter finish: Has the file reach the disk. It is called once all is written, and no
    ///   connection is open to it.
    func fill(_ copy: DatabaseCopy, finish: () throws -> Void) throws -> Content

    /// What an error of the copying says of the source.
    func explained(_ error: any Error) -> any Error

    func unlock() throws
}

/// A source whose pages can be copied as they are, since it doesn't change meanwhile.
protocol PageSource {
    var file: DatabaseFile { get }
    var form: DatabaseForm { get }

    /// Runs `body` with the pages as they are at one instant.
    ///
    /// - Parameters:
    ///   - unused: Pages to leave out.
    ///   - body: Gets the pages and the raw key, with which they are encrypted.
    func withPages<Value>(
        without unused: UnusedPages?,
        _ body: (DatabasePages, DatabaseKey?) throws -> Value
    ) throws -> Value
}

extension PageSource {
    /// The pages of a connection's database.
    ///
    /// - Parameters:
    ///   - connection: In a transaction, or it keeps everybody else out.
    ///   - log: Makes the pages in the log.
    func pages(
        of connection: OpaquePointer?,
        without unused: UnusedPages?,
        log: () throws -> LogPages? = { nil }
    ) throws -> DatabasePages {
        func number(_ name: String) -> Int {
            CipherConnection.column("PRAGMA main.\(name)", on: connection).values.first
                .flatMap { Int($0) } ?? 0
        }
        try unused?.leaveOut(on: connection)
        let log = try log()
        do {
            return try DatabasePages(
                of: connection,
                pageSize: number("page_size"),
                count: number("page_count"),
                log: log
            )
        } catch {
            throw PageRewritingError.unreadable(error)
        }
    }

    /// How pages are encrypted.
    ///
    /// - Parameter key: The raw key; `nil` if they aren't encrypted.
    func encryption(
        of pages: DatabasePages,
        _ key: DatabaseKey?
    ) throws -> PageRewriting.Encryption? {
        try key.map {
            PageRewriting.Encryption(
                key: $0,
                salt: try form.cipher.salt(ofFile: pages.start(), key: $0),
                cipher: form.cipher
            )
        }
    }

    func explainedPages(_ error: any Error) -> any Error {
        switch error {
        case PageRewritingError.damaged(let pages):
            EncryptedDatabaseError.damaged(path: file.path, pages: Array(pages.prefix(100)))
        case PageRewritingError.unreadable(let code):
            EncryptedDatabaseError(code, path: file.path)
        default:
            error
        }
    }
}

/// What is known of a copy of a database that goes on.
struct PageContent {
    /// What the content has against its own rules.
    let findings: [String]
}

extension RewriteSource where Self: PageSource, Content == PageContent {
    var mode: mode_t { 0o600 }

    func fill(_ copy: DatabaseCopy, finish: () throws -> Void) throws -> PageContent {
        try copy.copyPages(of: self, finish: finish) {
            PageContent(findings: try copy.check($0, of: file.path))
        }
    }

    func explained(_ error: any Error) -> any Error { explainedPages(error) }

    func unlock() throws {}
}
