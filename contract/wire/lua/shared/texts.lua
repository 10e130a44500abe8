-- Texts that are counted in windows have the number of their form and the hour, as `v2:hour`; see ../../countedText.ts. This
-- returns a text of the form before, which had `hour|day|month` there, in the current one.
local function inCurrentForm(text)
  if string.find(text, '|v2:', 1, true) then return text end
  return (string.gsub(text, '|(%d+)|%d+|%d+', '|v2:%1', 1))
end
