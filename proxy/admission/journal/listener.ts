import { type Crashable, notifyWaiter } from '../notifyWaiter.ts'

/** Whoever waits for a record's being written; told once, in a later turn. */
export interface JournalListener extends Crashable {
  onWritten(): void
  /** The record cannot be written now; it may be there all the same. */
  onUnwritten(error: unknown): void
}

export function notifyWritten(listener: JournalListener, onFault: (error: unknown) => void): void {
  notifyWaiter(listener, (told) => told.onWritten(), onFault)
}

export function notifyUnwritten(listener: JournalListener, error: unknown, onFault: (error: unknown) => void): void {
  notifyWaiter(listener, (told) => told.onUnwritten(error), onFault)
}
