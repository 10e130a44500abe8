import type { TestEvent } from 'node:test/reporters'

/** A test that failed, as a line of JSON of `failureReporter`. */
export interface Failure {
  readonly file: string
  readonly name: string
  readonly message: string
}

/** A reporter for `node --test-reporter` that writes a line of JSON for each test that failed. */
// biome-ignore lint/style/noDefaultExport: Node.js takes a reporter from the default export alone.
export default async function* failureReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type !== 'test:fail' || isTodo(event.data.todo)) continue
    const { error } = event.data.details
    const cause = error.cause instanceof Error ? error.cause : error
    const failure: Failure = { file: event.data.file ?? '', name: event.data.name, message: cause.message }
    yield `${JSON.stringify(failure)}\n`
  }
}

function isTodo(todo: string | boolean | undefined): boolean {
  return todo !== undefined && todo !== false
}
