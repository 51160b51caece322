import Foundation
import MigrationKitKeys
import TestSupport
import Testing

/// Every rule on password files, and the file that breaks it.
@Suite struct FileSourceTests {
    private let folder: TemporaryFolder
    private let resolver = KeyResolver { InMemoryKeyStore() }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func read(_ path: String) throws -> Secret {
        try resolver.secret(from: .file(path: path))
    }

    @Test(arguments: [
        ("key", "key"), ("key\n", "key"), ("key\r\n", "key"), ("key\n\n", "key\n"), (" k ", " k "),
    ])
    func fileGivesItsBytesWithoutOneNewline(contents: String, secret: String) throws {
        let path = try folder.write("key", contents.utf8)
        #expect(try read(path) == Secret(utf8: secret))
    }

    @Test func bytesNeedNotBeText() throws {
        let bytes: [UInt8] = [0xff, 0, 0xfe, 0x0a, 0x80]
        let path = try folder.write("key", bytes)
        #expect(try read(path).withUnsafeBytes { Array($0) } == bytes)
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func emptyFileIsRefused(contents: String) throws {
        let path = try folder.write("key", contents.utf8)
        #expect(throws: KeySourceError.empty(source: "the file \"\(path)\"")) { try read(path) }
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func sizeHasALimit(ending: String) throws {
        let full = String(repeating: "a", count: 65536)
        #expect(try read(folder.write("full", (full + ending).utf8)).count == 65536)
        for extra in ["a", "a\n", "aaaaaaaa"] {
            let path = try folder.write("more", (full + extra + ending).utf8)
            let source = "the file \"\(path)\""
            #expect(throws: KeySourceError.tooLarge(source: source, limit: 65536)) {
                try read(path)
            }
        }
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644] as [mode_t])
    func accessForOthersIsRefusedAndTheWayOutIsSaid(mode: mode_t) throws {
        let path = try folder.write("key", "key".utf8, mode: mode)
        let error = KeySourceError.openToOthers(path: path, mode: mode)
        #expect(throws: error) { try read(path) }
        #expect(error.recoverySuggestion?.contains("chmod 600 \(path)") == true)
    }

    @Test(arguments: [0o600, 0o400, 0o700] as [mode_t])
    func accessForTheOwnerAloneIsFine(mode: mode_t) throws {
        #expect(try read(folder.write("key", "key".utf8, mode: mode)) == Secret(utf8: "key"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func fileOfAnotherUserIsRefused() throws {
        let path = try folder.write("key", "key".utf8)
        try #require(chown(path, 12345, 0) == 0)
        #expect(throws: KeySourceError.wrongOwner(path: path, owner: 12345)) { try read(path) }
    }

    @Test func linkIsRefusedWhereverItLeads() throws {
        let path = try folder.write("key", "key".utf8)
        for (name, target) in [("link", path), ("dangling", "/nowhere")] {
            let link = folder.path(name)
            try #require(symlink(target, link) == 0)
            #expect(throws: KeySourceError.symbolicLink(path: link)) { try read(link) }
        }
    }

    @Test func linkedFolderOnTheWayIsFine() throws {
        let real = try folder.makeFolder("real")
        try folder.write("real/key", "key".utf8)
        try #require(symlink(real, folder.path("linked")) == 0)
        #expect(try read(folder.path("linked/key")) == Secret(utf8: "key"))
    }

    @Test func whatIsNoFileIsRefused() throws {
        let inner = try folder.makeFolder("folder")
        for path in [inner, "/dev/null", "/dev/zero"] {
            #expect(throws: KeySourceError.notAFile(path: path)) { try read(path) }
        }
    }

    @Test(arguments: ["missing", "missing/deeper", ""])
    func missingFileIsSaid(name: String) throws {
        let path = name.isEmpty ? "" : folder.path(name)
        #expect(throws: KeySourceError.noSuchFile(path: path)) { try read(path) }
    }

    @Test func credentialsAreTakenAsTheServiceManagerMadeThem() throws {
        let path = try folder.write("credential", "key\n".utf8, mode: 0o444)
        #expect(try resolver.secret(from: .credentialsFile(path: path)) == Secret(utf8: "key"))
    }

    @Test func namedPipeIsWaitedFor() async throws {
        let path = folder.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        // The writer opens the pipe when it likes; the reader neither hangs in open(2) nor takes
        // the absence of a writer for the end.
        let writer = try ChildProcess(
            "/bin/sh",
            ["-c", "read -r go; printf 'key\\n' > \"$1\"", "sh", path]
        )
        async let secret = read(path)
        writer.write("go\n".utf8)
        #expect(try await secret == Secret(utf8: "key"))
        #expect(try writer.finish().status == 0)
    }

    @Test func processSubstitutionWorks() throws {
        let result = try run(
            "bash",
            ["-c", "\"$1\" file <(printf 'key\\n')", "bash", builtExecutable("KeyStoreProbe")]
        )
        #expect(result.stdout == "secret 6b6579\n")
    }

    @Test func redirectedFileIsJudgedLikeANamedOne() throws {
        let path = try folder.write("key", "key".utf8, mode: 0o644)
        let result = try run(
            "bash",
            [
                "-c", "\"$1\" file /dev/stdin < \"$2\"", "bash", builtExecutable("KeyStoreProbe"),
                path,
            ]
        )
        #expect(result.stdout.hasPrefix("openToOthers"))
    }
}
