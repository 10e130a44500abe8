import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import type { Failure } from './laneMessages.ts'

/** What a lane learns of the tests of its current file. */
export interface LaneListener {
  failed(failure: Failure): void
  passed(): void
  noted(text: string): void
  /** The suite of the file has ended, its hooks included. */
  fileEnded(name: string): void
}

/** An error of a parent says no more than that a part of it failed. */
const REPEATED = 'subtestsFailed'

let listener: LaneListener | undefined

/** @param next hears of the events of this process from now on */
export function listen(next: LaneListener): void {
  listener = next
}

function take(event: TestEvent): void {
  if (event.type === 'test:diagnostic') return listener?.noted(event.data.message)
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return
  const { name, nesting, todo } = event.data
  if (event.type === 'test:fail' && !isTodo(todo)) note(name, event.data.details.error)
  if (event.type === 'test:pass' && event.data.details.type !== 'suite') listener?.passed()
  if (nesting === 0) listener?.fileEnded(name)
}

function note(name: string, error: Error & { failureType?: string }): void {
  if (error.failureType !== REPEATED) listener?.failed({ name, text: inspect(error.cause ?? error) })
}

function isTodo(todo: string | boolean | undefined): boolean {
  return todo !== undefined && todo !== false
}

/** A reporter for `node --test-reporter` that writes nothing and tells the listener of this process. */
// biome-ignore lint/style/noDefaultExport: Node.js takes a reporter from the default export alone.
export default async function* laneReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    take(event)
    yield ''
  }
}
