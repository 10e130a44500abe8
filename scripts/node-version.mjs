// Refuses a Node.js that the gateway does not run on, before anything is installed or built.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { glibcFault, glibcOfMachine, HTTP_SERVERS, httpServerFor } from '../proxy/server/httpServer.mjs'

const OLDEST = [20, 15]
const MAJORS = HTTP_SERVERS.flatMap(({ majors }) => majors)
const SUPPORTED = `${MAJORS.slice(0, -1).join(', ')} or ${MAJORS.at(-1)}`

/**
 * @param version of Node.js, such as "20.15.0"
 * @param dependencies of package.json; with the HTTP server's package from npm only some versions are supported
 * @param system whose glibc is asked
 * @returns one sentence for the operator, or undefined when the version is fine
 */
export function refusalOf(version, dependencies, system = { platform: process.platform, glibc: glibcOfMachine }) {
  const [major, minor] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    return `Node.js ${SUPPORTED} (${OLDEST.join('.')} or newer) is needed, this is ${version}.`
  }
  const server = httpServerFor(version)
  if (!dependencies[server.name].startsWith('npm:')) return undefined
  if (MAJORS.includes(major)) return system.platform === 'linux' ? glibcFault(server, system.glibc()) : undefined
  return `Node.js ${SUPPORTED} is needed, this is ${version}; the section "Newer Node.js" of docs/operations/deploy.md says how to run on another version.`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const refusal = refusalOf(process.versions.node, dependencies)
  if (refusal !== undefined) {
    console.error(refusal)
    process.exitCode = 1
  }
}
