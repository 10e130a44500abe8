import { limitsFault } from '../contract/limitsFault.ts'

const show = (text: string): void => void process.stdout.write(`${text}\n`)
// When what reads the output is gone, there is nobody to tell.
process.stdout.on('error', () => {})

const fault = await limitsFault()
if (fault === undefined) {
  const { run } = await import('./run.ts')
  process.exit(await run(show))
}
show(`Sluice did not start: ${fault}`)
process.exitCode = 1
