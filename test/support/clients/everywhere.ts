import type { Stopwatch } from '../stopwatch.ts'
import { assertError, completion, postRaw } from './chatClient.ts'

/**
 * Asserts that every process of the proxy answers requests for `test/small` like this soon after a change, and goes on so.
 */
export async function everywhere(
  url: string,
  watch: Stopwatch,
  apiKey: string,
  status: number,
  code?: string,
): Promise<void> {
  const body = JSON.stringify({ model: 'test/small', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] })
  // Each over a connection of its own, so that every process has some.
  const askAll = () =>
    Promise.all(Array.from({ length: 12 }, () => postRaw(url, apiKey, body, { connection: 'close' })))
  await watch.until(`every process answers ${status} ${code}`, async () =>
    (await askAll()).every((reply) => reply.status === status && (code === undefined || reply.text.includes(code))),
  )
  for (const reply of await askAll()) {
    if (code === undefined) completion(reply)
    else assertError(reply, status, code)
  }
}
