import { type Book, drainAll } from './ledger.ts'

/** Books whatever comes into the streams until the work is done, which may wait for that. */
export async function bookUntil(book: Book, work: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = (): void => {
    isDone = true
  }
  work.then(done, done)
  while (!isDone) await drainAll(book)
  await work
}
