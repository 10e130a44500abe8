/** Texts in which parsers find different hosts. @param inside the host, and port, that one of them finds */
export const ambiguous = (inside: string): string[] => [
  `http://example.com\\@${inside}/x`,
  `http://example.com\\\\@${inside}/x`,
  `http:\\\\example.com\\@${inside}/x`,
  `http://example.com\\.${inside}/x`,
  `http://exa\tmple.com\\@${inside}/x`,
  `http://example.com\n@${inside}/x`,
  `http://example.com\r\n@${inside}/x`,
  `http://example.com/\r\nHost: ${inside}`,
  `http://example.com\t@${inside}/x`,
  `http://example.com:80\\@${inside}/x`,
  `http://example.com@${inside}/x`,
  `http://example.com:x@${inside}/x`,
  `http://${inside}\\@example.com/x`,
]
