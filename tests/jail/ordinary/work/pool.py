# SPDX-License-Identifier: Apache-2.0
import multiprocessing
import multiprocessing.shared_memory


def square(n):
    return n * n


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(8)))
    lock, queue = multiprocessing.Lock(), multiprocessing.Queue()
    with lock:
        queue.put("queued")
    print(queue.get())
    block = multiprocessing.shared_memory.SharedMemory(create=True, size=64)
    block.buf[:5] = b"bytes"
    other = multiprocessing.shared_memory.SharedMemory(block.name)
    print(bytes(other.buf[:5]))
    other.close()
    block.close()
    block.unlink()
