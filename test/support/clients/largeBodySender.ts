// A thread that goes on sending bodies: what `workerData` says, each to its path, over and over. It tells of every answer.
import { parentPort, workerData } from 'node:worker_threads'

export interface SentBody {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

async function sendForEver({ url, headers, text }: SentBody): Promise<never> {
  const body = Buffer.from(text)
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
  for (;;) {
    const answer = await fetch(url, init)
    await answer.arrayBuffer()
    parentPort?.postMessage(`${new URL(url).pathname} ${answer.status}`)
  }
}

await Promise.all((workerData as readonly SentBody[]).map(sendForEver))
