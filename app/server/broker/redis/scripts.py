"""The Lua scripts that run inside Redis: each is atomic across all servers, and one round trip.

    PREFIX:state      hash: epoch, offset and mark of the newest; per history the bytes and the highest dropped offset
    PREFIX:operator   stream of the operator's notifications     } the id of an entry is `<offset>-0`: one order
    PREFIX:trials     stream of the trials' notifications        } for both, counted in the state
    PREFIX:keys       hash: what each idempotency key was used for
    PREFIX:key-order  list: the keys, newest first
    PREFIX:cache      hash: cached responses to history queries; deleted with the next notification
    PREFIX:rooms      string with an expiry of seconds: the server that has the rooms

A *mark* is a random value for each notification. A server names the offset that it has read and the mark that it saw
there. If Redis has another mark there, or ends before it, entries were lost (a failover, a crash without fsync), and
clients have seen what Redis no longer has. Then one server renews the epoch, and all load the history again.
"""

from __future__ import annotations

from app.core.broker_url import RedisAddress

NAMES = ("state", "operator", "trials", "keys", "key-order", "cache", "rooms")


def keys_of(address: RedisAddress) -> list[str]:
    """Return the keys that all scripts get. The braces keep them on one node of a cluster."""
    return [f"{{{address.prefix}}}:{name}" for name in NAMES]


_CHECKED = """
-- Checks that the caller's epoch is current and that what it has read is still there.
local function checked(epoch, known, mark)
  local state = redis.call('HMGET', KEYS[1], 'epoch', 'offset', 'mark')
  if state[1] ~= epoch then return 'epoch', state end
  local newest = tonumber(state[2] or '0')
  if newest < known then return 'lost', state end
  local found = nil
  if newest == known then
    found = state[3]
  else
    for stream = 2, 3 do
      local entry = redis.call('XRANGE', KEYS[stream], known, known)[1]
      if entry then found = entry[2][2] end
    end
  end
  -- An entry that the bounds have dropped cannot be compared any more; its reader gets a gap anyway.
  if found and mark ~= '' and found ~= mark then return 'lost', state end
  return 'ok', state
end
"""

JOIN = """
-- ARGV: an epoch for a history that has none. Returns the state.
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
return redis.call('HMGET', KEYS[1], 'epoch', 'offset', 'mark', 'operator_lost', 'trials_lost')
"""

RENEW = """
-- ARGV: the epoch in which entries were lost, and its successor. Only the first caller changes it.
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch == ARGV[1] then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[2])
  redis.call('DEL', KEYS[6])
end
return redis.call('HGET', KEYS[1], 'epoch')
"""

READ = (
    _CHECKED
    + """
-- ARGV: epoch, offset and mark up to which the caller has read; maximum count of entries.
-- Returns verdict, newest offset, its mark, the highest dropped offset of both histories, and the entries of both.
local known = tonumber(ARGV[2])
local verdict, state = checked(ARGV[1], known, ARGV[3])
if verdict ~= 'ok' then return {verdict} end
local lost = redis.call('HMGET', KEYS[1], 'operator_lost', 'trials_lost')
local from = '(' .. ARGV[2]
return {verdict, state[2] or '0', state[3] or '', lost[1] or '0', lost[2] or '0',
  redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', ARGV[4]),
  redis.call('XRANGE', KEYS[3], from, '+', 'COUNT', ARGV[4])}
"""
)

APPEND = (
    _CHECKED
    + """
-- ARGV: 1 epoch, 2 offset and 3 mark up to which the caller has read; 4 "operator" or "trials"; 5 when all entries
-- were sent; 6 entries, 7 bytes and 8 age (us) that bound the history; 9 maximum count of keys. Then five values for
-- each entry: its mark, JSON for clients after the offset, JSON that clients do not get, idempotency key or nothing,
-- and the use of the key, without its offset.
-- Returns the verdict and, if it is "ok", two values for each entry: "new" and its offset, or for a key that was used
-- before, "used" and its use.
local function size(id, wire)  -- Size of the whole JSON object, which includes its position and its offset.
  return #wire + #ARGV[1] + 2 * (#id - 2) + 20
end
local verdict, state = checked(ARGV[1], tonumber(ARGV[2]), ARGV[3])
if verdict ~= 'ok' then return {verdict} end
local stream = ARGV[4] == 'operator' and KEYS[2] or KEYS[3]
local newest = tonumber(state[2] or '0')
local answers = {'ok'}
for at = 10, #ARGV, 5 do
  local mark, wire, beside, key, use = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local used = key ~= '' and redis.call('HGET', KEYS[4], key)
  if used then
    answers[#answers + 1] = 'used'
    answers[#answers + 1] = used
  else
    local offset = string.format('%d', newest + 1)
    local id = offset .. '-0'
    redis.call('XADD', stream, id, 'mark', mark, 'sent', ARGV[5], 'wire', wire, 'beside', beside)
    -- Only now: a script that fails is not rolled back, and an entry that was refused must not leave a hole in the order.
    redis.call('HSET', KEYS[1], 'offset', offset, 'mark', mark)
    redis.call('HINCRBY', KEYS[1], ARGV[4] .. '_bytes', size(id, wire))
    if key ~= '' then
      redis.call('HSET', KEYS[4], key, offset .. ' ' .. use)
      if redis.call('LPUSH', KEYS[5], key) > tonumber(ARGV[9]) then
        redis.call('HDEL', KEYS[4], redis.call('RPOP', KEYS[5]))
      end
    end
    newest = newest + 1
    answers[#answers + 1] = 'new'
    answers[#answers + 1] = offset
  end
end
if newest == tonumber(state[2] or '0') then return answers end
redis.call('DEL', KEYS[6])
local bytes = tonumber(redis.call('HGET', KEYS[1], ARGV[4] .. '_bytes') or '0')
local count = redis.call('XLEN', stream)
local sent_min = tonumber(ARGV[5]) - tonumber(ARGV[8])
while count > 0 do
  local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  local is_old = tonumber(oldest[2][4]) < sent_min
  if count <= tonumber(ARGV[6]) and bytes <= tonumber(ARGV[7]) and not is_old then break end
  redis.call('XDEL', stream, oldest[1])
  redis.call('HSET', KEYS[1], ARGV[4] .. '_lost', string.match(oldest[1], '^%d+'))
  bytes = redis.call('HINCRBY', KEYS[1], ARGV[4] .. '_bytes', -size(oldest[1], oldest[2][6]))
  count = count - 1
end
return answers
"""
)

KEEP = """
-- ARGV: 1 epoch and 2 offset at which a response is valid, 3 the query, 4 the response, 5 time to live (ms), 6 maximum
-- count of responses. It is stored only if nothing was published since; nobody can publish while a script runs.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'offset')
if state[1] ~= ARGV[1] or (state[2] or '0') ~= ARGV[2] then return {'old'} end
if redis.call('HLEN', KEYS[6]) >= tonumber(ARGV[6]) then return {'full'} end
redis.call('HSET', KEYS[6], ARGV[3], ARGV[4])
-- One expiry for all of them, the shortest: fields with an expiry of their own came with Redis 7.4.
local left = redis.call('PTTL', KEYS[6])
if left < 0 or left > tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[6], ARGV[5]) end
return {'kept'}
"""

CLAIM = """
-- ARGV: a server, and the lease's length (ms). Returns whether it has the rooms now.
local holder = redis.call('GET', KEYS[7])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[7], ARGV[1], 'PX', ARGV[2])
return 1
"""

LEAVE = """
-- ARGV: a server that gives the rooms up.
if redis.call('GET', KEYS[7]) == ARGV[1] then redis.call('DEL', KEYS[7]) end
return 1
"""
