import { after, afterEach, before, beforeEach } from 'node:test'
import { awayFromTheHour } from '../awayFromTheHour.ts'
import { LeaseWorker } from './leaseWorker.ts'
import { type Book, ensureOpen, startBook, TestProxy } from './ledger.ts'

const BEAT_MS = 50

/** Beats for somebody, whom an audit then finds alive, however long the test takes. @returns what ends it */
function keepBeating(beat: () => Promise<unknown>): () => void {
  const beats = setInterval(() => void beat().catch(() => undefined), BEAT_MS)
  return () => clearInterval(beats)
}

/** Gives the tests of a file a book and, each, a proxy that beats. @param take is given them before each test */
export function eachWithProxy(take: (parts: { book: Book; proxy: TestProxy }) => void): void {
  let book: Book
  let stop: () => void
  before(async () => {
    book = await startBook()
  })
  beforeEach(async () => {
    await awayFromTheHour()
    const proxy = new TestProxy(book.redis)
    await proxy.beat()
    stop = keepBeating(() => proxy.beat())
    take({ book, proxy })
  })
  afterEach(() => stop())
  after(() => book.stop())
}

/** The same with a worker that leases, where admission is open and no other was ever seen. */
export function eachWithWorker(take: (parts: { book: Book; worker: LeaseWorker }) => void): void {
  let book: Book
  let stop: () => void
  before(async () => {
    book = await startBook()
  })
  beforeEach(async () => {
    await awayFromTheHour()
    await book.pool.query('DELETE FROM proxy_owners')
    await ensureOpen(book)
    const worker = await LeaseWorker.start(book)
    const end = keepBeating(() => worker.calls.beat())
    stop = () => {
      end()
      worker.stop()
    }
    take({ book, worker })
  })
  afterEach(() => stop())
  after(() => book.stop())
}
