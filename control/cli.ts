import { limitsFault } from '../contract/limits/limitsFault.ts'

const fault = await limitsFault()
if (fault === undefined) {
  const { main } = await import('./cli/main.ts')
  process.exitCode = await main(process.argv.slice(2))
} else {
  process.stderr.write(`sluice: ${fault}\n`)
  process.exitCode = 1
}
