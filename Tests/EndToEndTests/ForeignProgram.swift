import Foundation
import TestSupport
import Testing

/// A program that `Documentation/OtherLanguages.md` prints. It migrates a store with a key that it
/// reads from standard input.
struct ForeignProgram: Sendable, CustomTestStringConvertible {
    let language: String
    let file: String
    let compiler: String
    /// The compiler's options; `nil` if the program isn't built.
    let build: [String]?
    /// Its exit code without the tool, and after the tool was killed.
    let withoutTool: Int32
    let afterKill: Int32

    static let all = [
        ForeignProgram(
            language: "c",
            file: "store.c",
            compiler: "cc",
            build: ["-Wall", "-Wextra", "-Werror"],
            withoutTool: 127,
            afterKill: 128 + 9
        ),
        ForeignProgram(
            language: "rust",
            file: "store.rs",
            compiler: "rustc",
            build: ["-D", "warnings"],
            withoutTool: 1,
            afterKill: 70
        ),
        ForeignProgram(
            language: "js",
            file: "store.mjs",
            compiler: "node",
            build: nil,
            withoutTool: 127,
            afterKill: 70
        ),
    ]

    var testDescription: String { file }

    /// Where the project keeps it.
    var source: String { PackageFolder.path("Examples/OtherLanguages/\(file)") }

    /// Its folders of programs, with the tool's own folder as the first one.
    static func path(with folder: String) -> String {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        return "\(folder):/usr/bin:/bin:\(home)/.cargo/bin"
    }

    /// Builds it, if that is needed. Cancels the test where there is no compiler, as on most machines.
    ///
    /// - Returns: How it is started.
    func words(in folder: TemporaryFolder) throws -> [String] {
        try Self.require(compiler)
        guard let build else { return [compiler, source] }
        let made = folder.path(file + ".program")
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = Self.path(with: folder.path)
        let built = try run(
            "/usr/bin/env",
            [compiler] + build + ["-o", made, source],
            environment: environment
        )
        try #require(built.status == 0, "\(built)")
        return [made]
    }

    /// Ends the test as skipped without a program.
    static func require(_ program: String) throws {
        let found = try run(
            "/bin/sh",
            ["-c", "command -v \(program)"],
            environment: ["PATH": path(with: "/usr/local/bin")]
        )
        if found.status != 0 { try Test.cancel("there is no \(program)") }
    }
}
