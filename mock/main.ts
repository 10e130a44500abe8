import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startProvider } from './server.ts'

export type { BatchEntry } from './batches.ts'
export type { Outcome, ProviderStats, Served } from './log.ts'
export type { Provider, ProviderOptions } from './server.ts'
export { startProvider } from './server.ts'
export type { ReportedUsage } from './usage.ts'
export { clipByte, type VideoJob } from './videos.ts'

/**
 * Runs the mock provider as a process:
 * `node dist/mock/main.js --port 0 [--host H] [--log-file F] [--tls-key F --tls-cert F]`.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      'log-file': { type: 'string' },
      'tls-key': { type: 'string' },
      'tls-cert': { type: 'string' },
    },
  })
  const { host, 'log-file': logFile, 'tls-key': keyFile, 'tls-cert': certFile } = values
  const tls = keyFile === undefined || certFile === undefined ? undefined : { keyFile, certFile }
  const provider = await startProvider({
    port: Number(values.port),
    host,
    ...(logFile === undefined ? {} : { logFile }),
    ...(tls === undefined ? {} : { tls }),
  })
  const leave = () => {
    provider.stop()
    process.exit(0)
  }
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
  if (process.send !== undefined) {
    process.on('disconnect', leave)
    process.send({ ready: { port: provider.port } })
  }
  process.stdout.write(`mock provider on ${tls === undefined ? 'http' : 'https'}://${host}:${provider.port}/v1\n`)
}

const started = process.argv[1]
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) await main()
