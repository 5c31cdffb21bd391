-- skystp: the satellite transport protocol of docs/stp.md, and what of its encrypted associations can be read without a key.
--
-- Follows §3 of that document for the bytes, §15.2 for the frames of version 2, and §2 for where they are found: UDP with the
-- same ports, or IP protocol 253.
-- Differs from a machine: it sees both directions at one point of the path, so "has passed" is not "has arrived".
-- Leaves out decryption, which "skyhop wireshark decrypt" does; data are shown as bytes and streams are not put together.

local proto = Proto("skystp", "Satellite Transport Protocol")

local UDP_PORT, IP_PROTOCOL = 57824, 253
local HEADER, MODULUS = 12, 0x1000000
-- Versions of a BGN: a connection by itself, and an association of many streams.
local CONNECTION, STREAMS = 1, 2
local SD, POLL, STAT, USTAT, BGN, BGNAK, END, ENDAK = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80
local KINDS = {
  { bit = BGN, name = "BGN", text = "opens" },
  { bit = BGNAK, name = "BGNAK", text = "answers a BGN" },
  { bit = END, name = "END", text = "ends a direction or the connection" },
  { bit = ENDAK, name = "ENDAK", text = "answers an END" },
  { bit = STAT, name = "STAT", text = "the state of the receiver" },
  { bit = USTAT, name = "USTAT", text = "gaps, unasked" },
  { bit = POLL, name = "POLL", text = "asks for a STAT" },
  { bit = SD, name = "SD", text = "sequenced data" },
}
local REASONS = {
  [0] = "finished", [1] = "aborted by the application", [2] = "the peer was silent", [3] = "refused", [4] = "protocol error",
}
-- Frames of version 2; flags in the type of STREAM and DATAGRAM.
local LAST, ENDING, OPEN = 0x01, 0x02, 0x04
local FRAMES = {
  [0x00] = "PAD", [0x01] = "RESET", [0x02] = "CLASS", [0x03] = "CREDIT", [0x04] = "CREDIT-ALL", [0x05] = "CREDIT-STREAMS",
  [0x06] = "CREDIT-DATAGRAMS", [0x07] = "DATAGRAMS-BEFORE", [0x10] = "DATAGRAM", [0x11] = "DATAGRAM", [0x12] = "CREDIT-EACH",
  [0x13] = "ENDS",
}
for kind = 0x08, 0x0f do FRAMES[kind] = "STREAM" end
-- The largest number of a frame, and how many frames the column of information names.
local MOST, NAMED = UInt64.new(0xffffffff, 0x3fffffff), 5
-- Packets of associations, docs/stp-hosts.md.
local HELLO, ANSWER, COOKIE, REFUSED, SEALED, UNKNOWN = 1, 2, 3, 4, 5, 6
local ASSOCIATION = {
  [HELLO] = "HELLO", [ANSWER] = "ANSWER", [COOKIE] = "COOKIE", [REFUSED] = "REFUSED", [SEALED] = "SEALED", [UNKNOWN] = "UNKNOWN",
}
-- Messages between the hosts inside an association, and the length of each; shorter than any STP packet.
local MESSAGES = { [1] = "ASK", [2] = "HERE", [3] = "GONE", [4] = "CHALLENGE", [5] = "RESPONSE", [6] = "BYE" }
local MESSAGE_LENGTHS = { 4, 4, 4, 9, 9, 1 }
local PATTERNS = { [1] = "shared key", [2] = "pair of keys" }
local CIPHERS = { [1] = "AES-128-GCM", [2] = "ChaCha20-Poly1305" }
local REFUSALS = {
  [1] = "key", [2] = "version", [3] = "pattern", [4] = "plain only", [5] = "sealed only", [6] = "full",
}
local CHECKSUMS = { [0] = "bad", [1] = "good", [2] = "not verified" }

local f = {
  association = ProtoField.uint8("skystp.association.type", "Association", base.DEC, ASSOCIATION),
  association_index = ProtoField.uint24("skystp.association.index", "Index", base.HEX),
  association_counter = ProtoField.uint64("skystp.association.counter", "Counter"),
  association_pattern = ProtoField.uint8("skystp.association.pattern", "Pattern", base.DEC, PATTERNS),
  association_cipher = ProtoField.uint8("skystp.association.cipher", "Cipher", base.DEC, CIPHERS),
  association_reason = ProtoField.uint8("skystp.association.reason", "Reason", base.DEC, REFUSALS),
  message = ProtoField.uint8("skystp.message.type", "Message", base.DEC, MESSAGES),
  message_index = ProtoField.uint24("skystp.message.index", "Index in question", base.HEX),
  message_token = ProtoField.bytes("skystp.message.token", "Token"),
  srcport = ProtoField.uint16("skystp.srcport", "Source port"),
  dstport = ProtoField.uint16("skystp.dstport", "Destination port"),
  kind = ProtoField.uint8("skystp.type", "Type", base.HEX),
  ns = ProtoField.uint24("skystp.ns", "N(S)"),
  checksum = ProtoField.uint16("skystp.checksum", "Checksum", base.HEX),
  checksum_status = ProtoField.uint8("skystp.checksum.status", "Checksum status", base.DEC, CHECKSUMS),
  instance = ProtoField.uint16("skystp.instance", "Instance"),
  begin = ProtoField.none("skystp.begin", "Begin"),
  begin_version = ProtoField.uint8("skystp.begin.version", "Version"),
  begin_features = ProtoField.uint8("skystp.begin.features", "Features", base.HEX),
  begin_compact = ProtoField.bool("skystp.begin.features.compact", "COMPACT", 8, nil, 0x01),
  begin_report = ProtoField.bool("skystp.begin.features.report", "REPORT", 8, nil, 0x02),
  begin_ecn = ProtoField.bool("skystp.begin.features.ecn", "ECN", 8, nil, 0x04),
  begin_most = ProtoField.uint16("skystp.begin.most_payload", "Most payload"),
  begin_first = ProtoField.uint24("skystp.begin.first", "First"),
  begin_nmr = ProtoField.uint24("skystp.begin.nmr", "N(MR)"),
  begin_count = ProtoField.uint32("skystp.begin.count", "Connection count"),
  reason = ProtoField.uint8("skystp.end.reason", "Reason", base.DEC, REASONS),
  end_lowest = ProtoField.uint8("skystp.end.lowest", "Lowest version understood"),
  end_highest = ProtoField.uint8("skystp.end.highest", "Highest version understood"),
  stat = ProtoField.none("skystp.stat", "STAT"),
  stat_echo = ProtoField.uint32("skystp.stat.echo", "Echo"),
  stat_from = ProtoField.uint24("skystp.stat.from", "From"),
  stat_upto = ProtoField.uint24("skystp.stat.upto", "Up to, without"),
  stat_poll = ProtoField.framenum("skystp.stat.poll_in", "Answers the POLL in frame", base.NONE, frametype.REQUEST),
  stat_time = ProtoField.relative_time("skystp.stat.time", "Time since that POLL"),
  ustat = ProtoField.none("skystp.ustat", "USTAT"),
  list_flags = ProtoField.uint8("skystp.list.flags", "Flags", base.HEX),
  list_compact = ProtoField.bool("skystp.list.compact", "Short form", 8, nil, 0x01),
  list_report = ProtoField.bool("skystp.list.report", "Report follows", 8, nil, 0x02),
  list_marks = ProtoField.bool("skystp.list.marks", "Counts of ECN follow the report", 8, nil, 0x08),
  list_nr = ProtoField.uint24("skystp.list.nr", "N(R)"),
  list_nmr = ProtoField.uint24("skystp.list.nmr", "N(MR)"),
  list_gaps = ProtoField.uint32("skystp.list.gaps", "Number of gaps"),
  gap = ProtoField.none("skystp.gap", "Gap"),
  gap_start = ProtoField.uint24("skystp.gap.start", "Start"),
  gap_end = ProtoField.uint24("skystp.gap.end", "Behind it"),
  report = ProtoField.none("skystp.report", "Report"),
  report_received = ProtoField.uint32("skystp.report.received", "SDs received"),
  report_at = ProtoField.uint32("skystp.report.at", "Receiver's clock (us)"),
  report_delayed = ProtoField.uint32("skystp.report.delayed", "Held back (us)"),
  report_marked = ProtoField.uint32("skystp.report.marked", "SDs that came with CE"),
  report_erased = ProtoField.uint32("skystp.report.erased", "SDs that came without ECT(0)"),
  poll = ProtoField.uint32("skystp.poll.timestamp", "POLL timestamp"),
  data = ProtoField.bytes("skystp.data", "Data"),
  data_len = ProtoField.uint32("skystp.data.len", "Data length"),
  padding = ProtoField.bytes("skystp.padding", "Padding"),
  frame = ProtoField.none("skystp.frame", "Frame"),
  frame_type = ProtoField.uint8("skystp.frame.type", "Type", base.HEX, FRAMES),
  frame_last = ProtoField.bool("skystp.frame.type.last", "LAST: the data reach to the end of the SD", 8, nil, LAST),
  frame_ending = ProtoField.bool("skystp.frame.type.end", "END: this direction ends behind the data", 8, nil, ENDING),
  frame_open = ProtoField.bool("skystp.frame.type.open", "OPEN: opens the stream", 8, nil, OPEN),
  frame_stream = ProtoField.uint64("skystp.frame.stream", "Stream"),
  frame_offset = ProtoField.uint64("skystp.frame.offset", "Offset"),
  frame_length = ProtoField.uint32("skystp.frame.length", "Length"),
  frame_data = ProtoField.bytes("skystp.frame.data", "Data"),
  frame_reason = ProtoField.uint8("skystp.frame.reason", "Reason", base.DEC, REASONS),
  frame_end = ProtoField.uint64("skystp.frame.end", "End: behind the last byte that was sent"),
  frame_change = ProtoField.uint64("skystp.frame.change", "Change"),
  frame_priority = ProtoField.uint8("skystp.frame.priority", "Priority"),
  frame_weight = ProtoField.uint8("skystp.frame.weight", "Weight"),
  frame_limit = ProtoField.uint64("skystp.frame.limit", "Limit"),
  frame_channel = ProtoField.uint64("skystp.frame.channel", "Channel"),
  frame_streams = ProtoField.uint64("skystp.frame.streams", "Number of streams"),
}
for _, kind in ipairs(KINDS) do
  f[kind.name] = ProtoField.bool("skystp.type." .. kind.name:lower(), kind.name .. ": " .. kind.text, 8, nil, kind.bit)
end
proto.fields = f

local x = {
  retransmission = ProtoExpert.new("skystp.retransmission", "Retransmission: reported missing before",
    expert.group.SEQUENCE, expert.severity.NOTE),
  duplicate = ProtoExpert.new("skystp.duplicate", "Duplicate: has passed, and nobody has reported it missing since",
    expert.group.SEQUENCE, expert.severity.NOTE),
  late = ProtoExpert.new("skystp.out_of_order", "Out of order: later numbers have passed, and nobody has reported it missing",
    expert.group.SEQUENCE, expert.severity.WARN),
  gap = ProtoExpert.new("skystp.gap_before", "Numbers before this one have not passed",
    expert.group.SEQUENCE, expert.severity.WARN),
  missing = ProtoExpert.new("skystp.missing", "The receiver reports gaps", expert.group.SEQUENCE, expert.severity.NOTE),
  full = ProtoExpert.new("skystp.no_credit", "The receiver takes nothing more", expert.group.SEQUENCE, expert.severity.NOTE),
  broken = ProtoExpert.new("skystp.broken", "The connection is broken off", expert.group.SEQUENCE, expert.severity.WARN),
  reset = ProtoExpert.new("skystp.reset", "A stream is broken off", expert.group.SEQUENCE, expert.severity.NOTE),
  version = ProtoExpert.new("skystp.version", "Another version", expert.group.PROTOCOL, expert.severity.WARN),
  checksum = ProtoExpert.new("skystp.checksum.bad", "Bad checksum", expert.group.CHECKSUM, expert.severity.ERROR),
  malformed = ProtoExpert.new("skystp.malformed", "Malformed packet", expert.group.MALFORMED, expert.severity.ERROR),
}
proto.experts = {
  x.retransmission, x.duplicate, x.late, x.gap, x.missing, x.full, x.broken, x.reset, x.version, x.checksum, x.malformed,
}
proto.prefs.associations = Pref.bool("Read SDs as frames where no BGN was captured", false,
  "An SD does not say its version. Without a BGN or BGNAK before it, it is taken for version 1, or with this for version 2.")

-- What is remembered of a capture. A packet may be dissected often and in any order: what is to be said of it is settled at
-- the first time, when packets come in the order of the capture, and kept by the frame's number.
local flows, verdicts = {}, {}

function proto.init()
  flows, verdicts = {}, {}
end

local function has(kind, bit)
  return math.floor(kind / bit) % 2 == 1
end

-- The number without bounds, nearest to `near`, that reads `number` in 24 bits.
local function expand(number, near)
  local distance = (number - near) % MODULUS
  if distance >= MODULUS / 2 then distance = distance - MODULUS end
  return near + distance
end

-- A direction of a connection: which numbers have passed, which the other side has reported missing, when POLLs passed.
local function flow(from, from_port, to, to_port, instance)
  local key = table.concat({ tostring(from), from_port, tostring(to), to_port, instance }, " ")
  if not flows[key] then flows[key] = { passed = {}, missing = {}, polls = {} } end
  return flows[key]
end

-- What is to be said of an SD with this number, and of how many numbers.
local function judge(direction, number)
  local n = expand(number, direction.next or number)
  local following = direction.next or n
  local verdict, count
  if direction.missing[n] then
    verdict = "retransmission"
  elseif direction.passed[n] then
    verdict = "duplicate"
  elseif n < following then
    verdict = "late"
  elseif n > following then
    verdict, count = "gap", n - following
  end
  direction.passed[n], direction.missing[n] = true, nil
  direction.next = math.max(following, n + 1)
  return verdict, count
end

-- The other side reports gaps in this direction.
local function report_missing(direction, gaps)
  if not direction.next then return end
  for _, gap in ipairs(gaps) do
    local first = expand(gap[1], direction.next)
    local last = math.min(first + (gap[2] - gap[1]) % MODULUS, direction.next)
    for n = first, last - 1 do direction.missing[n] = true end
  end
end

-- 1 if the Internet checksum (RFC 1071) over all bytes is right, 0 if not, 2 if not all were captured.
local function verify(tvb)
  local len = tvb:reported_len()
  if tvb:len() < len then return 2 end
  local sum = 0
  for i = 0, len - 2, 2 do sum = sum + tvb(i, 2):uint() end
  if len % 2 == 1 then sum = sum + tvb(len - 1, 1):uint() * 256 end
  while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
  return sum == 0xffff and 1 or 0
end

-- Reads on from `at`; what does not fit raises a table with the reason, which the dissector shows.
local Reader = {}
Reader.__index = Reader

function Reader:take(len)
  if self.at + len > self.tvb:len() then error({ why = "too short for what its type announces" }) end
  local range = self.tvb(self.at, len)
  self.at = self.at + len
  return range
end

-- A distance: QUIC's variable-length integer of one, two or four bytes (RFC 9000, section 16).
function Reader:varint()
  local first = self:take(1):uint()
  local form = math.floor(first / 64)
  if form == 3 then error({ why = "a distance of eight bytes" }) end
  self.at = self.at - 1
  local range = self:take(2 ^ form)
  return range:uint() % 2 ^ (8 * 2 ^ form - 2), range
end

function Reader:ahead(from)
  local distance, range = self:varint()
  if distance >= MODULUS then error({ why = "a distance of 2^24 or more" }) end
  return (from + distance) % MODULUS, range
end

-- A number of a frame: QUIC's variable-length integer of any length (RFC 9000, section 16).
-- `long` adds it to an item.
function Reader:wide()
  local first = self:take(1):uint()
  self.at = self.at - 1
  local range = self:take(2 ^ math.floor(first / 64))
  local mask = range:len() == 8 and MOST or UInt64(2 ^ (8 * range:len() - 2) - 1)
  return range:uint64():band(mask), range
end

function Reader:long(item, field)
  local value, range = self:wide()
  item:add(field, range, value)
  return value
end

-- One byte of no meaning and a number of 24 bits.
function Reader:number()
  local range = self:take(4)(1, 3)
  return range:uint(), range
end

local function begin(reader, tree, name)
  local range = reader:take(16)
  local item = tree:add(f.begin, range):set_text(name)
  local version = item:add(f.begin_version, range(0, 1))
  local number = range(0, 1):uint()
  if number ~= CONNECTION and number ~= STREAMS then version:add_proto_expert_info(x.version) end
  local features = item:add(f.begin_features, range(1, 1))
  features:add(f.begin_compact, range(1, 1))
  features:add(f.begin_report, range(1, 1))
  features:add(f.begin_ecn, range(1, 1))
  item:add(f.begin_most, range(2, 2))
  item:add(f.begin_first, range(5, 3))
  item:add(f.begin_nmr, range(9, 3))
  item:add(f.begin_count, range(12, 4))
  item:append_text(string.format(", first %d, connection %d", range(5, 3):uint(), range(12, 4):uint()))
  return range(5, 3):uint(), number
end

local function flags(reader, item)
  local range = reader:take(1)
  local shown = item:add(f.list_flags, range)
  shown:add(f.list_compact, range)
  shown:add(f.list_report, range)
  shown:add(f.list_marks, range)
  local next = reader:take(3)
  item:add(f.list_nr, next)
  return range:uint(), next:uint()
end

local function gaps(reader, item, compact, from, count)
  local list, before = {}, from
  local furthest = 0
  if count * (compact and 2 or 8) > reader.tvb:len() - reader.at then error({ why = "more gaps than fit" }) end
  for i = 1, count do
    local at = reader.at
    local first, last, first_range, last_range
    if compact then
      first, first_range = reader:ahead(before)
      last, last_range = reader:ahead(first)
    else
      first, first_range = reader:number()
      last, last_range = reader:number()
    end
    local start, behind = (first - from) % MODULUS, (last - from) % MODULUS
    if start < furthest or behind <= start then error({ why = "a list of gaps that is not in order" }) end
    before, furthest = last, behind
    local missing = behind - start
    local text = string.format("%d to %d: %d missing", first, (last - 1) % MODULUS, missing)
    local shown = item:add(f.gap, reader.tvb(at, reader.at - at)):set_text(text)
    shown:add(f.gap_start, first_range, first)
    shown:add(f.gap_end, last_range, last)
    list[i] = { first, last }
  end
  if count > 0 then item:add_proto_expert_info(x.missing, string.format("%d gaps", count)) end
  return list
end

local function stat(reader, tree)
  local at = reader.at
  local item = tree:add(f.stat, reader.tvb(at)):set_text("STAT")
  local set, next = flags(reader, item)
  local compact = has(set, 1)
  local echo = reader:take(4)
  item:add(f.stat_echo, echo)
  local credit, from, upto, count, ranges
  if compact then
    local a, b, c, d
    credit, a = reader:ahead(next)
    from, b = reader:ahead(next)
    upto, c = reader:ahead(from)
    count, d = reader:varint()
    ranges = { a, b, c, d }
  else
    local a, b, c, d
    credit, a = reader:number()
    if has(set, 4) then
      from, upto, count = next, next, 0
    else
      from, b = reader:number()
      upto, c = reader:number()
      count, d = reader:number()
    end
    ranges = { a, b, c, d }
  end
  item:add(f.list_nmr, ranges[1], credit)
  if ranges[2] then
    item:add(f.stat_from, ranges[2], from)
    item:add(f.stat_upto, ranges[3], upto)
    item:add(f.list_gaps, ranges[4], count)
  else
    item:add(f.stat_from, from):set_generated()
    item:add(f.stat_upto, upto):set_generated()
    item:add(f.list_gaps, count):set_generated()
  end
  local list = gaps(reader, item, compact, from, count)
  if has(set, 2) then
    local range = reader:take(12)
    local report = item:add(f.report, range)
    report:add(f.report_received, range(0, 4))
    report:add(f.report_at, range(4, 4))
    report:add(f.report_delayed, range(8, 4))
    if has(set, 8) then
      local marks = reader:take(8)
      report:add(f.report_marked, marks(0, 4))
      report:add(f.report_erased, marks(4, 4))
    end
  end
  if credit == next then item:add_proto_expert_info(x.full) end
  item:set_len(reader.at - at)
  item:append_text(string.format(", all before %d, takes up to %d", next, (credit - 1) % MODULUS))
  return echo:uint(), list, item, string.format(" N(R)=%d%s", next, count > 0 and " gaps=" .. count or "")
end

local function ustat(reader, tree)
  local at = reader.at
  local item = tree:add(f.ustat, reader.tvb(at)):set_text("USTAT")
  local set, next = flags(reader, item)
  local compact = has(set, 1)
  local credit, count
  if compact then
    local range
    credit, range = reader:ahead(next)
    item:add(f.list_nmr, range, credit)
    count, range = reader:varint()
    item:add(f.list_gaps, range, count)
  else
    local range = reader:take(4)
    count, credit = range(0, 1):uint(), range(1, 3):uint()
    item:add(f.list_gaps, range(0, 1))
    item:add(f.list_nmr, range(1, 3))
  end
  local list = gaps(reader, item, compact, next, count)
  item:set_len(reader.at - at)
  return list, string.format(" gaps=%d", count)
end

local function class(reader, item)
  local priority, weight = reader:take(1), reader:take(1)
  item:add(f.frame_priority, priority)
  item:add(f.frame_weight, weight)
  if priority:uint() > 7 or weight:uint() == 0 then error({ why = "a class out of range" }) end
  return string.format(", priority %d, weight %d", priority:uint(), weight:uint())
end

-- The data of a STREAM or DATAGRAM frame, to the end of the SD or with a length before them. Returns their length.
local function piece(reader, item, kind, offset)
  local all = reader.tvb:reported_len()
  local len = all - reader.at
  if has(kind, LAST) then
    item:add(f.frame_length, len):set_generated()
  else
    local said, range = reader:wide()
    len = said:tonumber()
    if len > all - reader.at then error({ why = "a frame beyond the end of the SD" }) end
    item:add(f.frame_length, range, len)
  end
  if offset + UInt64(len) > MOST then error({ why = "data beyond 2^62" }) end
  local shown = math.min(len, reader.tvb:len() - reader.at)
  if shown > 0 then item:add(f.frame_data, reader.tvb(reader.at, shown)) end
  reader.at = reader.at + len
  return len
end

local function limit(reader, item)
  return string.format(", limit %s", tostring(reader:long(item, f.frame_limit)))
end

-- The fields of each frame behind its type. Each returns its text, and the stream if it is about one.
local FIELDS = {
  ["CREDIT-ALL"] = limit, ["CREDIT-STREAMS"] = limit, ["CREDIT-DATAGRAMS"] = limit, ["CREDIT-EACH"] = limit,
}

function FIELDS.PAD(reader)
  local count = 1
  while reader.at < reader.tvb:len() and reader.tvb(reader.at, 1):uint() == 0 do
    reader:take(1)
    count = count + 1
  end
  return string.format(", %d bytes", count)
end

function FIELDS.RESET(reader, item)
  local stream = reader:long(item, f.frame_stream)
  local range = reader:take(1)
  local reason = REASONS[range:uint()] or "unknown reason"
  item:add(f.frame_reason, range)
  item:add_proto_expert_info(x.reset, reason)
  return string.format(", %s, end %s", reason, tostring(reader:long(item, f.frame_end))), stream
end

function FIELDS.CLASS(reader, item)
  local stream = reader:long(item, f.frame_stream)
  local change = reader:long(item, f.frame_change)
  return string.format(", change %s%s", tostring(change), class(reader, item)), stream
end

function FIELDS.CREDIT(reader, item)
  local stream = reader:long(item, f.frame_stream)
  return limit(reader, item), stream
end

FIELDS["DATAGRAMS-BEFORE"] = function(reader, item)
  return string.format(", offset %s", tostring(reader:long(item, f.frame_offset)))
end

function FIELDS.STREAM(reader, item, kind)
  local stream = reader:long(item, f.frame_stream)
  local opening = has(kind, OPEN) and ", OPEN" .. class(reader, item) or ""
  local offset = reader:long(item, f.frame_offset)
  local len = piece(reader, item, kind, offset)
  if len == 0 and not has(kind, OPEN) and not has(kind, ENDING) then error({ why = "a STREAM frame that says nothing" }) end
  local ending = has(kind, ENDING) and ", END" or ""
  return string.format("%s, offset %s, %d bytes%s", opening, tostring(offset), len, ending), stream
end

function FIELDS.DATAGRAM(reader, item, kind)
  local channel = reader:long(item, f.frame_channel)
  local offset = reader:long(item, f.frame_offset)
  local len = piece(reader, item, kind, offset)
  if len == 0 then error({ why = "a datagram without data" }) end
  return string.format(", channel %s, offset %s, %d bytes", tostring(channel), tostring(offset), len)
end

function FIELDS.ENDS(reader, item)
  local count = reader:long(item, f.frame_streams):tonumber()
  if count == 0 then error({ why = "ENDS of no stream" }) end
  if count > reader.tvb:reported_len() - reader.at then error({ why = "more streams than fit" }) end
  local stream
  for _ = 1, count do
    local distance, range = reader:wide()
    if stream and (distance == UInt64(0) or stream + distance > MOST) then error({ why = "streams that do not ascend" }) end
    stream = stream and stream + distance or distance
    item:add(f.frame_stream, range, stream)
  end
  return string.format(", %d streams", count)
end

-- One frame. Returns its name, with the stream that it is about.
local function frame(reader, tree)
  local at = reader.at
  local range = reader:take(1)
  local kind = range:uint()
  local name = FRAMES[kind]
  if not name then error({ why = string.format("a frame of type 0x%02x", kind) }) end
  local item = tree:add(f.frame, reader.tvb(at)):set_text(name)
  local kinds = item:add(f.frame_type, range)
  if name == "STREAM" or name == "DATAGRAM" then kinds:add(f.frame_last, range) end
  if name == "STREAM" then
    kinds:add(f.frame_ending, range)
    kinds:add(f.frame_open, range)
  end
  local text, stream = FIELDS[name](reader, item, kind)
  local called = stream and name .. " " .. tostring(stream) or name
  item:set_text(called .. text)
  item:set_len(math.min(reader.at, reader.tvb:len()) - at)
  return called
end

-- The data of an SD of version 2. Returns the names of the first frames.
local function frames(reader, tree)
  local names = {}
  while reader.at < reader.tvb:reported_len() do
    local name = frame(reader, tree)
    if #names < NAMED then
      names[#names + 1] = name
    elseif #names == NAMED then
      names[#names + 1] = "…"
    end
  end
  return table.concat(names, ", ")
end

-- A BGN or BGNAK passes: where the numbers of its sender begin, and which version both speak.
local function begins(here, there, first, version)
  here.next = here.next or first
  here.version, there.version = version, version
end

-- Everything behind the header. Returns the text of the column of information.
local function contents(reader, tree, kind, number, here, there, verdict)
  local info = ""
  if has(kind, BGN) then
    local first, version = begin(reader, tree, "BGN")
    if verdict.new then begins(here, there, first, version) end
  end
  if has(kind, BGNAK) then
    local first, version = begin(reader, tree, "BGNAK")
    if verdict.new then begins(here, there, first, version) end
  end
  if has(kind, END) then
    local range = reader:take(4)
    local item = tree:add(f.reason, range(0, 1))
    local reason = range(0, 1):uint()
    if reason ~= 0 then item:add_proto_expert_info(x.broken, REASONS[reason] or "unknown reason") end
    info = info .. " (" .. (REASONS[reason] or reason) .. ")"
    local lowest, highest = range(1, 1):uint(), range(2, 1):uint()
    if reason == 4 and lowest > 0 and highest >= lowest then
      tree:add(f.end_lowest, range(1, 1))
      tree:add(f.end_highest, range(2, 1))
      info = string.format("%s, understands version %d to %d", info, lowest, highest)
    end
  end
  if has(kind, STAT) then
    local echo, list, item, text = stat(reader, tree)
    info = info .. text
    if verdict.new then
      report_missing(there, list)
      verdict.poll = there.polls[echo]
    end
    if verdict.poll then
      item:add(f.stat_poll, verdict.poll.frame):set_generated()
      local ns = NSTime(math.floor(verdict.time - verdict.poll.time), ((verdict.time - verdict.poll.time) % 1) * 1e9)
      item:add(f.stat_time, ns):set_generated()
    end
  end
  if has(kind, USTAT) then
    local list, text = ustat(reader, tree)
    info = info .. text
    if verdict.new then report_missing(there, list) end
  end
  if has(kind, POLL) then
    local range = reader:take(4)
    tree:add(f.poll, range)
    if verdict.new then here.polls[range:uint()] = { frame = verdict.frame, time = verdict.time } end
  end
  local rest = reader.tvb:len() - reader.at
  local left = reader.tvb:reported_len() - reader.at
  if has(kind, SD) then
    if left == 0 then error({ why = "an SD without data" }) end
    tree:add(f.data_len, left):set_generated()
    info = info .. " Len=" .. left
    if verdict.new then verdict.version = here.version or proto.prefs.associations and STREAMS or CONNECTION end
    if verdict.version == STREAMS then
      info = info .. " " .. frames(reader, tree)
    elseif rest > 0 then
      tree:add(f.data, reader.tvb(reader.at))
    end
  elseif left > 0 then
    if not has(kind, POLL) then error({ why = "bytes behind the last part" }) end
    if rest > 0 then tree:add(f.padding, reader.tvb(reader.at)) end
  end
  return info
end

-- Which packet of an association this is, by its form; nil if none. No STP begins so: a SEALED packet's counter never
-- grows into the byte where STP has its type, and the others have lengths of their own.
local function association_kind(tvb)
  local kind, len = tvb(0, 1):uint(), tvb:reported_len()
  if kind == SEALED then return tvb(4, 1):uint() == 0 and len >= 28 and kind or nil end
  if kind == HELLO then
    local cookie = tvb(7, 1):uint()
    local known = tvb(1, 1):uint() == 1 and PATTERNS[tvb(2, 1):uint()] and CIPHERS[tvb(3, 1):uint()]
    return known and (cookie == 0 or cookie == 16) and len == cookie + (tvb(2, 1):uint() == 1 and 56 or 104) and kind or nil
  end
  if kind == UNKNOWN then return tvb(4, 1):uint() == 0 and len == 12 and kind or nil end
  local lengths = { [ANSWER] = 55, [COOKIE] = 28, [REFUSED] = 13 }
  return lengths[kind] == len and kind or nil
end

local function association(tvb, pinfo, root, kind)
  local name = ASSOCIATION[kind]
  local tree = root:add(proto, tvb()):append_text(", association, " .. name)
  tree:add(f.association, tvb(0, 1))
  local at = kind == HELLO and 4 or 1
  local index = tvb(at, 3)
  tree:add(f.association_index, index)
  local info = string.format("Association %s, index %06x", name, index:uint())
  if kind == SEALED then
    tree:add(f.association_counter, tvb(4, 8))
    info = string.format("%s, counter %s [encrypted]", info, tostring(tvb(4, 8):uint64()))
  elseif kind == UNKNOWN then
    tree:add(f.association_counter, tvb(4, 8))
    info = string.format("%s, counter %s", info, tostring(tvb(4, 8):uint64()))
  elseif kind == HELLO then
    tree:add(f.association_pattern, tvb(2, 1))
    tree:add(f.association_cipher, tvb(3, 1))
  elseif kind == REFUSED and tvb:len() == 13 then
    tree:add(f.association_reason, tvb(12, 1))
    info = string.format("%s (%s)", info, REFUSALS[tvb(12, 1):uint()] or "unknown reason")
  end
  pinfo.cols.info = info
  return tvb:len()
end

-- A message between the hosts, in a decrypted capture; 0 if it is none.
local function message(tvb, pinfo, root)
  local kind = tvb:reported_len() > 0 and tvb:len() > 0 and tvb(0, 1):uint() or 0
  if MESSAGE_LENGTHS[kind] ~= tvb:reported_len() or tvb:len() ~= tvb:reported_len() then return 0 end
  pinfo.cols.protocol = "SKYSTP"
  local tree = root:add(proto, tvb()):append_text(", message, " .. MESSAGES[kind])
  tree:add(f.message, tvb(0, 1))
  local info = "Message " .. MESSAGES[kind]
  if tvb:len() == 4 then
    tree:add(f.message_index, tvb(1, 3))
    info = string.format("%s, index %06x", info, tvb(1, 3):uint())
  elseif tvb:len() == 9 then
    tree:add(f.message_token, tvb(1, 8))
  end
  pinfo.cols.info = info
  return tvb:len()
end

function proto.dissector(tvb, pinfo, root)
  if tvb:len() < HEADER then return message(tvb, pinfo, root) end
  pinfo.cols.protocol = "SKYSTP"
  local status = verify(tvb)
  -- One encrypted packet in 65,536 has a right checksum by chance; no STP packet has type zero.
  local other = (status ~= 1 or tvb(4, 1):uint() == 0) and association_kind(tvb)
  if other then return association(tvb, pinfo, root, other) end
  local kind, number, instance = tvb(4, 1):uint(), tvb(5, 3):uint(), tvb(10, 2):uint()
  local src, dst = tvb(0, 2):uint(), tvb(2, 2):uint()
  local names = {}
  for _, known in ipairs(KINDS) do
    if has(kind, known.bit) then names[#names + 1] = known.name end
  end
  local name = table.concat(names, "+")
  local tree = root:add(proto, tvb()):append_text(string.format(", %s, N(S) %d", name, number))
  tree:add(f.srcport, tvb(0, 2))
  tree:add(f.dstport, tvb(2, 2))
  local kinds = tree:add(f.kind, tvb(4, 1)):append_text(" (" .. name .. ")")
  for _, known in ipairs(KINDS) do kinds:add(f[known.name], tvb(4, 1)) end
  local shown = tree:add(f.ns, tvb(5, 3))
  local sum = tree:add(f.checksum, tvb(8, 2))
  tree:add(f.checksum_status, tvb(8, 2), status):set_generated()
  if status == 0 then sum:add_proto_expert_info(x.checksum) end
  tree:add(f.instance, tvb(10, 2))

  local here = flow(pinfo.src, src, pinfo.dst, dst, instance)
  local there = flow(pinfo.dst, dst, pinfo.src, src, instance)
  local verdict = verdicts[pinfo.number]
  if not verdict then
    -- What a receiver drops changes nothing.
    verdict = { frame = pinfo.number, time = pinfo.abs_ts, new = status ~= 0 }
    verdicts[pinfo.number] = verdict
  end
  local info = ""
  if kind == 0 then
    tree:add_proto_expert_info(x.malformed, "no type")
  else
    local reader = setmetatable({ tvb = tvb, at = HEADER }, Reader)
    local ok, result = pcall(contents, reader, tree, kind, number, here, there, verdict)
    if ok then
      info = result
    elseif type(result) == "table" and tvb:len() < tvb:reported_len() then
      info = " [cut off by the capture]"
    elseif type(result) == "table" then
      tree:add_proto_expert_info(x.malformed, result.why)
      info = " [malformed: " .. result.why .. "]"
    else
      error(result, 0)
    end
  end
  if verdict.new and has(kind, SD) then verdict.what, verdict.count = judge(here, number) end
  verdict.new = false
  if verdict.what == "gap" then
    shown:add_proto_expert_info(x.gap, string.format("%d numbers before this one have not passed", verdict.count))
  elseif verdict.what then
    shown:add_proto_expert_info(x[verdict.what])
  end
  local remark = verdict.what and " [" .. (verdict.what == "late" and "out of order" or verdict.what) .. "]" or ""
  pinfo.cols.info = string.format("%d → %d %s N(S)=%d%s%s", src, dst, name, number, info, remark)
  return tvb:len()
end

-- On any port: a header that repeats the listener's port of UDP and a checksum that is right over everything are no accident.
-- The initiator's port is its own.
local function recognise(tvb, pinfo, root)
  if tvb:len() < HEADER or tvb(4, 1):uint() == 0 then return false end
  if tvb(0, 2):uint() ~= pinfo.src_port and tvb(2, 2):uint() ~= pinfo.dst_port then return false end
  if verify(tvb) ~= 1 then return false end
  proto.dissector(tvb, pinfo, root)
  pinfo.conversation = proto
  return true
end

DissectorTable.get("udp.port"):add(UDP_PORT, proto)
DissectorTable.get("ip.proto"):add(IP_PROTOCOL, proto)
proto:register_heuristic("udp", recognise)
