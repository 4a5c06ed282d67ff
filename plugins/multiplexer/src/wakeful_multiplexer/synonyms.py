"""What people say for what catalogues call something else.

One line for each idea: words that catalogues use, then after the bar words that people use for them. A word
of a query also finds the catalogue's words of its line, for less than it would count itself. Words are
compared by their stems; ``_`` joins words that mean this only together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from attrs import frozen

from wakeful_multiplexer.words import raw_words, stem

TABLE = """
create add new insert | make build compose draft write start open raise generate set_up
delete remove trash | erase bin discard drop throw clear wipe get_rid destroy purge scrap forget
update edit modify change set | alter amend adjust correct fix revise rename rewrite
list get show read view fetch retrieve | see display check look give tell browse
search find query lookup | locate look seek where
send post | tell write text ship shoot
forward | pass_on redirect send_on
reply respond | answer write_back
email gmail mail message | inbox letter newsletter mailbox correspondence
event calendar meeting | appointment agenda schedule diary invitation session call lunch booked
reschedule move update | postpone delay shift push put_off bring_forward
task todo | chore reminder errand job to_do
comment note | remark feedback annotation discussion thread opinion
issue ticket bug | defect problem story report
merge request | mr pr
pull request | pr mr
approve accept | confirm okay agree sign_off green_light
reject decline | refuse turn_down say_no
complete close resolve finish | done tick wrap_up check_off
reopen open | bring_back
spreadsheet sheet workbook excel | table xlsx csv
row column cell range | line field entry
document doc word | docx paper text letter report
page wiki article | post entry
heading outline section | title chapter structure
folder directory | place
file | document pdf attachment
copy duplicate clone fork | replicate another_one
share permission access | invite let_see public collaborate
assign assignee owner | hand give responsible
user member people profile | person colleague teammate staff coworker who
history log revision version commit activity | recent happened earlier past changelog
label tag category | mark classify
browser page navigate url | website web site link visit
click | press tap hit button
type fill form | enter input
screenshot snapshot | picture image photo capture
directions route distance | drive travel way far journey commute
place location | restaurant cafe shop store address nearby where
light switch turn device entity | lamp bulb heating appliance
climate temperature | heating thermostat warm cold
automation routine | rule every whenever
export download convert | save printable print
upload attach | put
board kanban | wall
sprint | iteration cycle
pipeline job workflow build run | ci check
status state | progress health green
time timezone | clock hour now
chart graph plot | diagram visualise
pivot summarize aggregate | total group sum
sort order | rank arrange
replace | swap substitute exchange
contact | phone number address_book
form survey response | questionnaire
presentation slide | deck
freebusy availability | available free busy slot
vacation responder | away holiday out_of_office auto_reply absence
protect lock password | secure restrict
star favorite | bookmark important
emoji reaction | thumbs heart like
archive | put_away shelve
restore untrash undo revert | get_back recover undelete bring_back
dependency link | depends blocks blocked waiting
subscribe watch follow | notify alert
draft | unsent unfinished
schedule plan cron | later regularly recurring
remember store memory | save keep
team group channel | room chat
repository repo project | codebase code
branch | line
weather forecast | rain sun sunny umbrella outside
stock quote price | share ticker worth
book reserve booking reservation | order hotel flight ticket
pay payment transfer transaction | money wire spend
balance account | money left
currency exchange convert | dollars euros
news headline article | latest
song music track playlist | listen play tune
movie film | cinema watch
recipe food ingredient | cook meal dish
calculate compute | work_out figure
cancel stop abort | call_off end
start begin launch | kick_off go
enable activate | turn_on switch_on
disable deactivate | turn_off switch_off mute
"""


@frozen
class Synonyms:
    """Words that stand for others, by stem.

    Args:
        single: a stem to the stems it also finds.
        joined: two neighbouring words to the stems they find.
    """

    single: Mapping[str, frozenset[str]]
    joined: Mapping[tuple[str, str], frozenset[str]]

    @classmethod
    def of(cls, own: Mapping[str, Iterable[str]] = {}) -> Synonyms:
        """Return the table, with more of an agent's own: a word to the words it also finds."""
        single: dict[str, set[str]] = {}
        joined: dict[tuple[str, str], set[str]] = {}
        lines = [_sides(line) for line in TABLE.strip().splitlines()]
        pairs = [(word, formal) for formal, said in lines for word in (*formal, *said)]
        pairs += [("_".join(raw_words(word)), [_one(each) for each in found]) for word, found in own.items()]
        for word, formal in pairs:
            parts = word.split("_")
            found = {stem(each) for each in formal if "_" not in each}
            if len(parts) == 2:  # noqa: PLR2004  (two words)
                joined.setdefault((parts[0], parts[1]), set()).update(found)
            else:
                single.setdefault(stem(word), set()).update(found - {stem(word)})
        return cls(
            {word: frozenset(found) for word, found in single.items()},
            {word: frozenset(found) for word, found in joined.items()},
        )

    def found_by(self, text: str) -> dict[str, int]:
        """Return the stems that a query also finds, each with how many of its words say so."""
        spoken = raw_words(text)
        groups = [self.single.get(stem(word), frozenset()) for word in dict.fromkeys(spoken)]
        groups += [self.joined.get(pair, frozenset()) for pair in dict.fromkeys(pairwise(spoken))]
        counts: dict[str, int] = {}
        for group in groups:
            for found in sorted(group):
                counts[found] = counts.get(found, 0) + 1
        return counts


def _sides(line: str) -> tuple[list[str], list[str]]:
    formal, _, said = line.partition("|")
    return formal.split(), said.split()


def _one(word: str) -> str:
    return "".join(raw_words(word))
