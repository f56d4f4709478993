"""One thread that runs the controllers' work when it is due, with the store's lock held."""
import heapq, itertools, sys, threading, time, traceback


class Loop:
    def __init__(self, lock):
        self.lock = lock
        self.due = []  # (when, number, key, call)
        self.planned = {}  # key -> when: work with a key is planned once, at the earliest time that was asked for
        self.numbers = itertools.count()
        self.wake = threading.Condition(threading.Lock())
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def later(self, seconds, call, key=None):
        when = time.monotonic() + seconds
        with self.wake:
            if key is not None:
                if self.planned.get(key, when + 1) <= when:
                    return
                self.planned[key] = when
            heapq.heappush(self.due, (when, next(self.numbers), key, call))
            self.wake.notify()

    def soon(self, call, key=None):
        self.later(0, call, key)

    def end(self):
        with self.wake:
            self.ended = True
            self.wake.notify()
        self.thread.join()

    def next(self):
        """Waits for the next call that is due; None at the end."""
        with self.wake:
            while not self.ended:
                wait = self.due[0][0] - time.monotonic() if self.due else None
                if wait is not None and wait <= 0:
                    when, _, key, call = heapq.heappop(self.due)
                    if key is None or self.planned.get(key) == when:
                        self.planned.pop(key, None)
                        return call
                    continue  # an earlier time was asked for after this one
                self.wake.wait(wait)
        return None

    def run(self):
        while call := self.next():
            try:
                with self.lock:
                    call()
            except Exception:  # a controller that stumbles goes on with the next object, as real ones do; the test sees the trace
                traceback.print_exc(file=sys.stderr)
