// The mock provider in a process that runs it for one stack after the other.
import { type Provider, startProvider } from '../../../mock/server.ts'
import { serveRuns } from './warmHost.ts'

serveRuns((_logFile, onEnd) => {
  let provider: Provider | undefined
  return {
    start: async () => {
      provider = await startProvider({ port: 0 })
      return { port: provider.port }
    },
    stop: () => {
      provider?.stop()
      onEnd(0)
    },
    reload: () => undefined,
  }
})
