-- Two captures of one match: most ships of the one that shows fewer are in the other,
-- and were created as many seconds apart.
create or replace view same_match as
with ships as (
  select m.capture as capture, m.match as match, m.host as host, l.object_id as object_id, l.ship as ship, l.begin_ts as begin_ts
  from matches as m join lives as l on l.capture = m.capture and l.match = m.match
  where not l.begins_late
), totals as (
  select s.capture as capture, s.match as match, count(distinct s.object_id) as ships from ships as s group by s.capture, s.match
), pairs as (
  select a.capture as capture, a.match as match, b.capture as other_capture, b.match as other_match, a.object_id as object_id,
    date_diff('millisecond', a.begin_ts, b.begin_ts) / 1000.0 as ahead
  from ships as a join ships as b on a.host = b.host and a.object_id = b.object_id and a.ship = b.ship
  where a.capture <> b.capture and abs(date_diff('second', a.begin_ts, b.begin_ts)) <= 300
), clocks as (
  select p.capture as capture, p.match as match, p.other_capture as other_capture, p.other_match as other_match, median(p.ahead) as ahead
  from pairs as p group by p.capture, p.match, p.other_capture, p.other_match
), common as (
  select p.capture as capture, p.match as match, p.other_capture as other_capture, p.other_match as other_match, c.ahead as clock_ahead,
    count(distinct p.object_id) as ships,
    row_number() over (partition by p.capture, p.match, p.other_capture order by abs(c.ahead), p.other_match) as nearest
  from pairs as p join clocks as c
    on c.capture = p.capture and c.match = p.match and c.other_capture = p.other_capture and c.other_match = p.other_match
  where abs(p.ahead - c.ahead) <= 5
  group by p.capture, p.match, p.other_capture, p.other_match, c.ahead
)
select c.capture as capture, c.match as match, c.other_capture as other_capture, c.other_match as other_match, c.ships as ships,
  round(c.clock_ahead, 3) as clock_ahead
from common as c
join totals as a on a.capture = c.capture and a.match = c.match
join totals as b on b.capture = c.other_capture and b.match = c.other_match
where c.nearest = 1 and c.ships * 2 >= least(a.ships, b.ships);

-- Each match once: of several captures that with the beginning, then the host's, then
-- the longest.
create or replace view games as
select * from matches
where (capture, match) not in (
  select s.capture, s.match from same_match as s
  join matches as a on a.capture = s.capture and a.match = s.match
  join matches as b on b.capture = s.other_capture and b.match = s.other_match
  where (case when a.begins_late then 0 else 2 end + case when a.captured_at_host then 1 else 0 end, a.seconds, a.capture)
    < (case when b.begins_late then 0 else 2 end + case when b.captured_at_host then 1 else 0 end, b.seconds, b.capture)
);

-- A player in a match that counts.
create or replace view played as
select r.capture as capture, r.match as match, r.player as player, r.player_key as player_key, r.player_name as player_name, g.begin_ts as begin_ts,
  g.host as host, r.outcome as outcome, r.ship as ship, r.team as team, r.kills as kills, r.deaths as deaths, r.team_kills as team_kills, r.score as score
from results as r join games as g on g.capture = r.capture and g.match = r.match
where r.played;

create or replace view wins as
select p.player_key as player_key, max(p.player_name) as player_name, count(*) as matches,
  sum(case when p.outcome = 'won' then 1 else 0 end) as wins, sum(case when p.outcome = 'draw' then 1 else 0 end) as draws,
  sum(case when p.outcome = 'lost' then 1 else 0 end) as losses, sum(p.kills) as kills, sum(p.deaths) as deaths, sum(p.team_kills) as team_kills
from played as p group by p.player_key;

-- Points are 1 for a win and 0.5 for a draw; 400 of the rating are ten times as many
-- points as lost ones.
create or replace view ratings as
select s.player_key as player_key, s.player_name as player_name, s.begin_ts as begin_ts, s.capture as capture, s.match as match, s.outcome as outcome,
  s.matches as matches, s.points as points, round(1500 + 400 * log10((s.points + 1) / (s.matches - s.points + 1))) as rating
from (
  select p.player_key as player_key, p.player_name as player_name, p.begin_ts as begin_ts, p.capture as capture, p.match as match, p.outcome as outcome,
    row_number() over (partition by p.player_key order by p.begin_ts, p.capture, p.match) as matches,
    sum(case when p.outcome = 'won' then 1.0 when p.outcome = 'draw' then 0.5 else 0.0 end)
      over (partition by p.player_key order by p.begin_ts, p.capture, p.match rows between unbounded preceding and current row) as points
  from played as p where p.outcome in ('won', 'lost', 'draw')
) as s;

create or replace view ships as
select p.ship as ship, count(*) as matches, sum(case when p.outcome = 'won' then 1 else 0 end) as wins,
  round(100.0 * sum(case when p.outcome = 'won' then 1 else 0 end) / count(*), 1) as win_percent, sum(p.kills) as kills, sum(p.deaths) as deaths
from played as p where p.ship is not null and p.outcome in ('won', 'lost', 'draw') group by p.ship;

create or replace view evenings as
select cast(g.begin_ts as date) as evening, count(distinct g.capture) as captures, count(*) as matches, round(sum(g.seconds)) as seconds,
  sum(case when g.result = 'winner' then 1 else 0 end) as won, sum(case when g.result = 'draw' then 1 else 0 end) as draws
from games as g group by cast(g.begin_ts as date);

-- Ships lost up to the end of a match that counts.
create or replace view losses as
select k.capture as capture, k.match as match, k.frame as frame, k.ts as ts, k.killer_name as killer_name, k.killer_ship as killer_ship,
  k.victim_name as victim_name, k.ship as ship, k.weapon_name as weapon_name, k.distance as distance, k.team_kill as team_kill
from kills as k join games as g on g.capture = k.capture and g.match = k.match
where not k.after_end;

create or replace view rivals as
select max(l.killer_name) as killer_name, max(l.victim_name) as victim_name, count(*) as kills, min(l.ts) as first_ts, max(l.ts) as last_ts
from losses as l where l.killer_name is not null and l.victim_name is not null and not l.team_kill
group by lower(l.killer_name), lower(l.victim_name);

create or replace view friendly_kills as select * from losses where team_kill;

create or replace view accuracy as
select max(s.player_name) as player_name, s.kind as kind, count(*) as shots, sum(case when s.hit then 1 else 0 end) as hits, count(s.hit) as shots_known,
  round(100.0 * sum(case when s.hit then 1 else 0 end) / nullif(count(s.hit), 0), 1) as hit_percent
from shots as s join games as g on g.capture = s.capture and g.match = s.match
where s.player_name is not null group by lower(s.player_name), s.kind;

create or replace view damage_pairs as
select max(d.player_name) as player_name, max(d.victim_name) as victim_name, d.friendly as friendly, d."from" as told_by, count(*) as hits,
  round(sum(d.damage_done), 1) as damage_done, round(sum(d.hull_lost), 3) as hull_lost
from damage as d join games as g on g.capture = d.capture and g.match = d.match
where d.player_name is not null and d.victim_name is not null and not d.after_end
group by lower(d.player_name), lower(d.victim_name), d.friendly, d."from";
