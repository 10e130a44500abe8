// The operator's command line: builds once when there is no build yet, then runs dist/control/cli.js in this process.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const cli = new URL('../dist/control/cli.js', import.meta.url)
if (!existsSync(cli)) {
  const build = fileURLToPath(new URL('build.mjs', import.meta.url))
  // The command's own output may be JSON for a program to read, so the build speaks on stderr.
  const done = spawnSync(process.execPath, [build], { stdio: ['ignore', 2, 2] })
  if (done.status !== 0) process.exit(done.status ?? 1)
}
process.argv[1] = fileURLToPath(cli)
await import(cli.href)
