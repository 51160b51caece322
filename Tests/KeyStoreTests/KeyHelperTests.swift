import Foundation
import MigrationKitKeys
import Synchronization
import TestSupport
import Testing

/// A program that is asked for keys, and everything that it may do instead of answering.
@Suite struct KeyHelperTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A helper that runs a shell script for each line.
    private func helper(
        _ script: String,
        limit: Int = 1,
        timeout: Duration = .seconds(20)
    ) throws -> KeyHelper {
        let path = try folder.write("helper.sh", script.utf8)
        return try KeyHelper("sh '\(path)'", limit: limit, timeout: timeout)
    }

    private func answering(_ answer: String) throws -> KeyHelper {
        try folder.write("answer", answer.utf8)
        return try helper("while read -r line; do cat '\(folder.path("answer"))'; done")
    }

    private func text(_ key: DatabaseKey) -> String {
        key.stored().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test func helperIsAskedByName() throws {
        let helper = try helper(
            """
            while read -r line; do
                printf '%s\\n' "$line" >> '\(folder.path("asked"))'
                name=${line#*:\\"}; name=${name%\\"*}
                printf '{"key":"key of %s","form":"passphrase"}\\n' "$name"
            done
            """
        )
        #expect(text(try helper.key(ofStore: "alice")) == "key of alice")
        #expect(text(try helper.key(ofStore: "eu/bob")) == "key of eu/bob")
        let asked = String(decoding: try folder.data("asked"), as: UTF8.self)
        #expect(asked == "{\"store\":\"alice\"}\n{\"store\":\"eu/bob\"}\n")
    }

    @Test func rawKeyIsHexadecimal() throws {
        let key = try DatabaseKey.generate()
        let helper = try answering("{\"form\" : \"raw\", \"key\" : \"\(text(key))\"}\r\n")
        #expect(try helper.key(ofStore: "alice") == key)
    }

    @Test func escapesOfJSONAreUnderstood() throws {
        let helper = try answering(#"{"key":"\"\\\/\b\f\n\r\t\u00fc\u20AC\ud83d\udd11ü"}"# + "\n")
        #expect(text(try helper.key(ofStore: "alice")) == "\"\\/\u{8}\u{c}\n\r\tü€🔑ü")
    }

    @Test func errorOfTheHelperIsThatOfTheStore() throws {
        let helper = try answering("{\"error\":\"no such tenant\"}\n")
        for _ in 0..<2 {
            #expect(throws: KeySourceError.refused(program: "sh", message: "no such tenant")) {
                try helper.key(ofStore: "alice")
            }
        }
    }

    @Test(arguments: [
        "secret", "{", "{}", "[]", #"{"key":1}"#, #"{"key":"a"}{"#, #"{"key":"a","key":"b"}"#,
        #"{"key":"a","form":"hex"}"#, #"{"key":"a"#, #"{"key":"\x"}"#, #"{"key":"\ud83d"}"#,
        #"{"key":"a\u00"}"#, "{\"key\":\"a\tb\"}", "", "{\"key\":\"a\"}\n{\"key\":\"b\"}",
    ])
    func anotherAnswerIsRefusedAndNotQuoted(answer: String) throws {
        let helper = try answering(answer + "\n")
        for _ in 0..<2 {
            #expect {
                try helper.key(ofStore: "alice")
            } throws: { error in
                guard case KeySourceError.unusableAnswer(program: "sh", let reason) = error else {
                    return false
                }
                return answer.count < 3 || !reason.contains(answer)
            }
        }
    }

    @Test func endlessAnswerIsRefused() throws {
        let helper = try helper("exec tr '\\0' x < /dev/zero")
        #expect {
            try helper.key(ofStore: "alice")
        } throws: { error in
            if case KeySourceError.unusableAnswer = error { true } else { false }
        }
    }

    @Test func unusableKeyIsRefused() throws {
        let helper = try answering("{\"key\":\"0123\",\"form\":\"raw\"}\n")
        #expect(
            throws: KeySourceError.unusableKey(
                source: "the key helper \"sh\"",
                reason: .notHexadecimal(count: 4)
            )
        ) { try helper.key(ofStore: "alice") }
    }

    @Test func helperThatEndsIsStartedAgain() throws {
        let helper = try helper(
            """
            read -r line
            case $line in *bad*) exit 1 ;; esac
            echo '{"key":"secret"}'
            """
        )
        #expect(text(try helper.key(ofStore: "one")) == "secret")
        #expect(throws: KeySourceError.helperEnded(program: "sh")) {
            try helper.key(ofStore: "bad")
        }
        #expect(text(try helper.key(ofStore: "two")) == "secret")
    }

    @Test func silentHelperIsEnded() throws {
        let helper = try helper(
            "echo $$ > '\(folder.path("pid"))'; while read -r line; do :; done",
            timeout: .milliseconds(300)
        )
        #expect(throws: KeySourceError.helperTimedOut(program: "sh", seconds: 0.3)) {
            try helper.key(ofStore: "alice")
        }
        let text = String(decoding: try folder.data("pid"), as: UTF8.self)
        let identifier = try #require(pid_t(text.dropLast()))
        #expect(kill(identifier, 0) != 0)
    }

    @Test func severalAreAskedAtTheSameTime() throws {
        // Each answers only when the other one was asked, too.
        try folder.makeFolder("asked")
        let helper = try helper(
            """
            while read -r line; do
                : > '\(folder.path("asked"))'/$$
                while [ "$(ls '\(folder.path("asked"))' | wc -l)" -lt 2 ]; do :; done
                echo '{"key":"secret"}'
            done
            """,
            limit: 2
        )
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            do {
                _ = try helper.key(ofStore: "\(number)")
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test func cancellationEndsTheWaiting() throws {
        let path = try folder.write("helper.sh", "while read -r line; do :; done".utf8)
        let helper = try KeyHelper("sh '\(path)'", limit: 1, isCancelled: { true })
        #expect(throws: CancellationError.self) { try helper.key(ofStore: "alice") }
    }

    @Test func commandIsCheckedAtOnce() throws {
        #expect(throws: KeySourceError.commandNotStarted(program: "no-such-helper", code: ENOENT)) {
            try KeyHelper("no-such-helper", limit: 1)
        }
        #expect {
            try KeyHelper("helper 'a", limit: 1)
        } throws: { error in
            if case KeySourceError.unusableCommand = error { true } else { false }
        }
    }
}
