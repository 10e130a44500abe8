// Refuses a Node.js that the gateway does not run on, before anything is installed or built.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const OLDEST = [20, 15]
/** The versions that the HTTP server's package on npm has native code for. */
const MAJORS = [20, 22]

/**
 * @param version of Node.js, such as "20.15.0"
 * @param dependency what package.json says of uWebSockets.js; with the package from npm only Node.js 20 and 22 are supported
 * @returns one sentence for the operator, or undefined when the version is fine
 */
export function refusalOf(version, dependency) {
  const [major, minor] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    return `Node.js ${MAJORS.join(' or ')} (${OLDEST.join('.')} or newer) is needed, this is ${version}.`
  }
  if (MAJORS.includes(major) || !dependency.startsWith('npm:')) return undefined
  return `Node.js ${MAJORS.join(' or ')} is needed, this is ${version}; the section "Newer Node.js" of docs/operations/deploy.md says how to run on another version.`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const refusal = refusalOf(process.versions.node, dependencies['uWebSockets.js'])
  if (refusal !== undefined) {
    console.error(refusal)
    process.exitCode = 1
  }
}
