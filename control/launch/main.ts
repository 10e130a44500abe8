import { limitsFault } from '../../contract/limits/limitsFault.ts'

const show = (text: string): void => void process.stdout.write(`${text}\n`)
// When what reads the output is gone, there is nobody to tell.
process.stdout.on('error', () => {})

// What is made from here on, by the parts as well, is for this user alone.
process.umask(0o077)
const fault = await limitsFault()
if (fault === undefined) {
  const { run } = await import('./run.ts')
  process.exit(await run(show))
}
show(`Sluice did not start: ${fault}`)
process.exitCode = 1
