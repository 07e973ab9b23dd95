"""The same four people, in the very bytes of programs that are not here: R, Excel, Stata, SPSS; and of pandas, which is."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pandas as pd

R_CSV = b""""","age","weight","town","member","born","plz"
"1",61,70.5,"K\xc3\xb6ln",TRUE,1963-02-28,"01067"
"2",34,NA,"Ulm",FALSE,1990-12-31,"89073"
"3",NA,82.25,"K\xc3\xb6ln",TRUE,NA,"01067"
"4",5,19,NA,FALSE,2019-01-01,NA
"""
# write.table(people, "people.txt", sep = "\t", col.names = NA, na = "")
R_TABLE = R_CSV.replace(b",", b"\t").replace(b"NA", b"")
# write.csv2: semicolons and decimal commas
R_CSV2 = R_CSV.replace(b",", b";").replace(b"70.5", b"70,5").replace(b"82.25", b"82,25")
EXCEL_GERMAN_TEXT = """age;weight;town;member;born;plz\r
61;70,5;Köln;WAHR;1963-02-28;01067\r
34;;Ulm;FALSCH;1990-12-31;89073\r
;82,25;Köln;WAHR;;01067\r
5;19;;FALSCH;2019-01-01;\r
"""
EXCEL_ENGLISH = """age,weight,town,member,born,plz\r
61,70.5,Köln,TRUE,1963-02-28,01067\r
34,,Ulm,FALSE,1990-12-31,89073\r
#N/A,82.25,Köln,TRUE,,01067\r
5,19,,FALSE,2019-01-01,\r
\r
\r
"""
STATA = b"""age\tweight\ttown\tmember\tborn\tplz
61\t70.5\tK\xc3\xb6ln\tyes\t1963-02-28\t01067
34\t.\tUlm\tno\t1990-12-31\t89073
.\t82.25\tK\xc3\xb6ln\tyes\t\t01067
5\t19\t\tno\t2019-01-01\t
"""
# Blanks around numbers, #NULL! for missing ones, and a delimiter at the end of each line, names included.
SPSS = """age;weight;town;member;born;plz;\r
  61;   70,50;Köln;Yes;1963-02-28;01067;\r
  34;#NULL!;Ulm;No;1990-12-31;89073;\r
#NULL!;   82,25;Köln;Yes;#NULL!;01067;\r
   5;   19,00;;No;2019-01-01;;\r
"""
# The names have no delimiter at the end, the records have.
TRAILING = """age|weight|town|member|born|plz
61|70.5|Köln|t|1963-02-28|01067|
34||Ulm|f|1990-12-31|89073|
|82.25|Köln|t||01067|
5|19||f|2019-01-01||
"""
SINGLE_QUOTES = """'age','weight','town','member','born','plz'
61,70.5,'Köln','y','1963-02-28','01067'
34,NULL,'Ulm','n','1990-12-31','89073'
NULL,82.25,'Köln','y',NULL,'01067'
5,19,NULL,'n','2019-01-01',NULL
"""


def frame() -> Any:
    people = {
        "age": [61, 34, None, 5],
        "weight": [70.5, None, 82.25, 19],
        "town": ["Köln", "Ulm", "Köln", None],
        "member": [True, False, True, False],
        "born": ["1963-02-28", "1990-12-31", None, "2019-01-01"],
        "plz": ["01067", "89073", "01067", None],
    }
    return pd.DataFrame(people)


def pandas_csv(**options: Any) -> bytes:
    file = BytesIO()
    frame().to_csv(file, **options)
    return file.getvalue()


#: A name for each file, and its bytes.
FILES: dict[str, Callable[[], bytes]] = {
    "r-write-csv.csv": lambda: R_CSV,
    "r-write-table.txt": lambda: R_TABLE,
    "r-write-csv2.csv": lambda: R_CSV2,
    "pandas.csv": pandas_csv,
    "pandas-nan.csv": lambda: pandas_csv(na_rep="nan"),
    "pandas-without-index.tsv": lambda: pandas_csv(index=False, sep="\t"),
    "pandas-crlf.csv": lambda: pandas_csv(index=False, lineterminator="\r\n"),
    "pandas-utf-16.csv": lambda: pandas_csv(index=False, encoding="utf-16"),
    "excel-english.csv": lambda: EXCEL_ENGLISH.encode("utf-8-sig"),
    "excel-unicode-text.txt": lambda: EXCEL_ENGLISH.replace(",", "\t").encode("utf-16"),
    "stata.raw": lambda: STATA,
    "spss.dat": lambda: SPSS.encode("windows-1252"),
    "trailing.txt": TRAILING.encode,
    "single-quotes.csv": SINGLE_QUOTES.encode,
    "no-line-break-at-the-end.csv": lambda: EXCEL_ENGLISH.strip().encode("windows-1252"),
}
#: Excel writes flags in the language of its user, which are text to everybody else.
GERMAN: dict[str, Callable[[], bytes]] = {
    "excel-german.csv": lambda: EXCEL_GERMAN_TEXT.encode("windows-1252"),
    "excel-german-utf-8.csv": lambda: EXCEL_GERMAN_TEXT.encode("utf-8-sig"),
}
