import MigrationKitPages
import Foundation
import GRDB

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
    func fill(_ copy: DatabaseCopy) throws -> Content

    /// What an error of the copying says of the source.
    func explained(_ error: any Error) throws -> any Error

    func unlock() throws
}

/// A source that is copied page by page. It may be in use.
protocol PageSource: RewriteSource where Content == PageContent {
    var form: DatabaseForm { get }

    /// - Parameter unused: Pages to leave out.
    /// - Returns: A connection that still sees what was copied, if that is in nobody's way.
    func fill(_ copy: DatabaseCopy, without unused: UnusedPages?) throws -> DatabaseQueue?
}

/// What is known of a copy of pages.
struct PageContent {
    /// Whether it was compared with the source row by row.
    let isCompared: Bool

    /// What the content has against its own rules.
    let findings: [String]
}

extension PageSource {
    var mode: mode_t { 0o600 }

    func fill(_ copy: DatabaseCopy) throws -> PageContent {
        let snapshot = try copy.fillLeavingOutUnused(of: file, form) {
            try fill(copy, without: $0)
        }
        let findings = try copy.checkPages(against: snapshot, of: file.path)
        try snapshot?.close()
        return PageContent(isCompared: snapshot != nil, findings: findings)
    }

    func explained(_ error: any Error) throws -> any Error {
        guard case DatabaseCopy.PageFailure.source(let code) = error else { return error }
        if code.primary == CipherCode.readError {
            return EncryptedDatabaseError(code, path: file.path)
        }
        let pages = try FileInspection(file, cipher: form.cipher).damagedPages(form)
        return EncryptedDatabaseError.damaged(path: file.path, pages: pages)
    }

    func unlock() throws {}
}
