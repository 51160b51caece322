import Foundation
import Testing

/// A Slurm of a test's own on this machine: its daemons in a folder of their own, on the loopback,
/// with authentication of their own.
///
/// Slurm's daemons are root's. <https://slurm.schedmd.com/quickstart_admin.html>
public final class PrivateSlurm: Sendable {
    private let folder: TemporaryFolder
    private let daemons: [ChildProcess]
    private let environment: [String: String]

    /// Why there can be none here.
    public static var obstacle: String? {
        guard geteuid() == 0 else { return "only root can run Slurm's daemons" }
        let groups = try? FileManager.default.contentsOfDirectory(atPath: "/sys/fs/cgroup")
        guard groups?.isEmpty == false else { return "slurmd needs control groups" }
        let programs = ["slurmctld", "slurmd", "munged"]
        let missing = programs.first {
            !FileManager.default.isExecutableFile(atPath: "/usr/sbin/\($0)")
        }
        return missing.map { "\($0) is missing: Scripts/bootstrap --tests installs it" }
    }

    /// Starts the daemons, and returns as soon as tasks can run.
    ///
    /// - Parameter processors: How many tasks may run at the same time.
    public init(processors: Int) throws {
        try OtherProgram.require("Slurm")
        folder = try TemporaryFolder()
        for name in ["state", "spool"] { try folder.makeFolder(name) }
        try folder.write("key", (0..<256).map { _ in UInt8.random(in: .min ... .max) }, mode: 0o400)
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count)
        let host = String(
            decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)),
            as: UTF8.self
        )
        .prefix { $0 != "." }
        let ports = try [Self.freePort(), Self.freePort()]
        let configuration = try folder.write(
            "slurm.conf",
            """
            ClusterName=test
            SlurmctldHost=\(host)(127.0.0.1)
            SlurmctldPort=\(ports[0])
            SlurmdPort=\(ports[1])
            SlurmUser=root
            SlurmdUser=root
            AuthType=auth/munge
            AuthInfo=socket=\(folder.path("munge.socket"))
            CredType=cred/munge
            StateSaveLocation=\(folder.path("state"))
            SlurmdSpoolDir=\(folder.path("spool"))
            SlurmctldPidFile=\(folder.path("slurmctld.pid"))
            SlurmdPidFile=\(folder.path("slurmd.pid"))
            SlurmctldDebug=error
            SlurmdDebug=error
            SlurmctldLogFile=\(folder.path("slurmctld.log"))
            SlurmdLogFile=\(folder.path("slurmd.log"))
            ProctrackType=proctrack/linuxproc
            TaskPlugin=task/none
            SelectType=select/cons_tres
            SelectTypeParameters=CR_CPU
            SwitchType=switch/none
            MpiDefault=none
            SlurmdParameters=config_overrides
            SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
            NodeName=\(host) NodeAddr=127.0.0.1 CPUs=\(processors) State=UNKNOWN
            PartitionName=all Nodes=\(host) Default=YES State=UP MaxTime=INFINITE

            """.utf8
        )
        let environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("MIGRATIONKIT_") }
            .merging(["SLURM_CONF": configuration]) { $1 }
        self.environment = environment
        func start(_ program: String, _ arguments: String...) throws -> ChildProcess {
            try ChildProcess("/usr/sbin/\(program)", arguments, environment: environment)
        }
        let munge = try start(
            "munged",
            "--foreground",
            "--force",
            "--key-file=\(folder.path("key"))",
            "--socket=\(folder.path("munge.socket"))",
            "--pid-file=\(folder.path("munge.pid"))",
            "--log-file=\(folder.path("munge.log"))",
            "--seed-file=\(folder.path("munge.seed"))"
        )
        let socket = folder.path("munge.socket")
        try wait(for: "munged") { FileManager.default.fileExists(atPath: socket) }
        daemons = try [start("slurmd", "-D"), start("slurmctld", "-D", "-i"), munge]
        try wait(for: "slurmctld", interval: 20_000) {
            let nodes = try TestSupport.run(
                "sinfo",
                ["--noheader", "--format=%t"],
                environment: environment
            )
            return nodes.status == 0 && nodes.stdout.hasPrefix("idle")
        }
    }

    /// Runs a command of Slurm, and answers what it prints.
    @discardableResult
    public func run(_ program: String, _ arguments: String...) throws -> String {
        let result = try TestSupport.run(program, arguments, environment: environment)
        return try ProcessFailure.check(program, result).stdout
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return UInt16(bigEndian: address.sin_port)
    }
}
