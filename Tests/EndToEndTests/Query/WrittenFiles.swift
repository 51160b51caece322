import Foundation
import TestSupport
import Testing

/// What a program does to files, as strace sees it.
enum WrittenFiles {
    /// The system calls that create and write files, with the beginning of what is written: more than
    /// a row.
    static func calls(
        _ words: [String],
        environment: [String: String],
        input: String = ""
    ) throws -> [Substring] {
        let trace = try TemporaryFolder()
        let calls = "open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,mmap"
        let result = try TestSupport.run(
            "strace",
            ["-f", "-qq", "-y", "-s", "400", "-o", trace.path("calls"), "-e", "trace=" + calls]
                + words,
            environment: environment,
            input: input.utf8,
            newSession: true,
            within: 300
        )
        try #require(result.status == 0, "\(result)")
        return String(decoding: try trace.data("calls"), as: UTF8.self).split(separator: "\n")
    }
}
