import { type Crashable, notifyWaiter } from '../notifyWaiter.ts'

/** A waiter for the write of a record; called once, in a later turn. */
export interface JournalListener extends Crashable {
  onWritten(): void
  /** The record could not be written; it may be in the file nevertheless. */
  onUnwritten(error: unknown): void
}

export function notifyWritten(listener: JournalListener, onFault: (error: unknown) => void): void {
  notifyWaiter(listener, (told) => told.onWritten(), onFault)
}

export function notifyUnwritten(listener: JournalListener, error: unknown, onFault: (error: unknown) => void): void {
  notifyWaiter(listener, (told) => told.onUnwritten(error), onFault)
}
