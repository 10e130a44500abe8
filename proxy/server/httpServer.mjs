// Which package has the HTTP server's native code for which Node.js. The programs, their installation and the tests read it here.

/**
 * The packages, as package.json names them: the major versions of Node.js that each serves, and the oldest glibc that its code for
 * Linux runs with. No package on npm has code for Node.js 24 that runs with the glibc of Debian 12, which is 2.36.
 */
export const HTTP_SERVERS = [
  { name: 'uWebSockets.js', majors: [20, 22], glibc: '2.27' },
  { name: 'uWebSockets.js-24', majors: [24], glibc: '2.38' },
]

/**
 * @param version of Node.js, such as "20.15.0"
 * @returns the package for it; the last one for versions that none is known for, which an official release may replace
 */
export function httpServerFor(version) {
  const major = Number.parseInt(version, 10)
  return HTTP_SERVERS.find(({ majors }) => majors.includes(major)) ?? HTTP_SERVERS.at(-1)
}

/** The version of the machine's glibc, such as "2.36"; undefined where there is none, as on macOS and Alpine. */
export function glibcOfMachine() {
  if (process.platform !== 'linux') return undefined
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime
}

/**
 * @param server a row of HTTP_SERVERS
 * @param glibc of a machine with Linux; undefined where it has another C library
 * @returns one sentence that says what to install, or undefined when the server's code runs there
 */
export function glibcFault(server, glibc) {
  const versions = server.majors.join(' and ')
  if (glibc === undefined)
    return `The HTTP server for Node.js ${versions} needs glibc ${server.glibc} or newer; this system has none.`
  const [major, minor] = glibc.split('.').map(Number)
  const [oldestMajor, oldestMinor] = server.glibc.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined
  const others = HTTP_SERVERS.filter((other) => other !== server && glibcFault(other, glibc) === undefined)
  const instead = others.length === 0 ? '' : `, or use Node.js ${others.flatMap(({ majors }) => majors).join(' or ')}`
  return (
    `The HTTP server for Node.js ${versions} needs glibc ${server.glibc} or newer, this machine has ${glibc}: ` +
    `use Debian 13, Ubuntu 24.04 or newer${instead}.`
  )
}

/**
 * @param require of the folder whose packages are meant
 * @returns the HTTP server for the Node.js that runs this
 * @throws Error that says what to install
 */
export function loadHttpServer(require) {
  const server = httpServerFor(process.versions.node)
  try {
    return require(server.name)
  } catch (error) {
    const fault = process.platform === 'linux' ? glibcFault(server, glibcOfMachine()) : undefined
    const advice =
      fault ?? `Run \`make install\` with this Node.js, ${process.versions.node}, which installs its native code.`
    throw new Error(`The package ${server.name} does not load: ${error.message}\n${advice}`, { cause: error })
  }
}
