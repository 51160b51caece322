import Glibc

/// Memory pages for one secret: locked, left out of core dumps and of forked children.
///
/// The pages contain nothing else, since locks and dump rules apply to whole pages, and locks don't
/// nest (mlock(2)).
struct SecretPages {
    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Maps zeroed pages for at least `capacity` bytes.
    init(capacity: Int) {
        precondition(capacity >= 0, "a secret's size can't be negative")
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        byteCount = max(1, (capacity + page - 1) / page) * page
        let mapped = mmap(
            nil,
            byteCount,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        // Running out of memory ends the process, as for every other allocation in Swift.
        guard let mapped, mapped != MAP_FAILED else { fatalError("no memory for a secret") }
        base = mapped
        // Errors of all three are ignored. There is a limit on locked memory (RLIMIT_MEMLOCK, often
        // 8 MB, 64 KB on older systems). Past it, a secret may be swapped out, but that is no
        // reason to fail.
        mlock(base, byteCount)
        madvise(base, byteCount, Int32(MADV_DONTDUMP))
        madvise(base, byteCount, Int32(MADV_WIPEONFORK))
    }

    /// Wipes and unmaps the pages.
    func release() {
        explicit_bzero(base, byteCount)
        munmap(base, byteCount)
    }
}
