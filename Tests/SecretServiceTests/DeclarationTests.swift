import Foundation
import TestSupport
import Testing

@Suite struct DeclarationTests {
    private static let flags = try? run("pkg-config", ["--cflags", "libsecret-1"])
    private static let compiler = try? run("clang", ["--version"])

    /// The module declares what it uses of libsecret itself; a difference would go unseen.
    @Test(
        .enabled(
            if: flags?.status == 0 && compiler?.status == 0,
            "needs clang and libsecret's pkg-config file"
        )
    )
    func ownDeclarationsAgreeWithTheRealHeaders() throws {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let shim = package.appendingPathComponent("Keys/CLibSecret/include/CLibSecret.h").path
        let words = (Self.flags?.stdout ?? "").split(whereSeparator: \.isWhitespace).map(
            String.init
        )
        let result = try run(
            "clang",
            ["-fsyntax-only", "-Wall", "-Werror", "-x", "c", "-DSECRET_API_SUBJECT_TO_CHANGE"]
                + words
                + ["-include", "libsecret/secret.h", "-include", shim, "/dev/null"]
        )
        #expect(result.status == 0, "\(result.stderr)")
    }
}
