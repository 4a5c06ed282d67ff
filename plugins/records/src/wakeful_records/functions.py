"""SQL functions that queries may call: they compute from their arguments and do nothing else.

A list of what is allowed, because what is harmful cannot be listed: databases have hundreds of
functions that read files, sleep, lock, run other statements or look into the catalogue, and owners add
their own. The setting ``query_functions`` adds to this list.
"""

from __future__ import annotations

from sqlglot import exp

_AGGREGATES = """
any_value array_agg avg bit_and bit_or bool_and bool_or corr count count_if covar_pop covar_samp every
group_concat json_agg json_array_agg json_arrayagg json_group_array json_group_object json_object_agg
json_objectagg jsonb_agg jsonb_group_array jsonb_object_agg listagg logical_and logical_or max median min
mode percentile_cont percentile_disc regr_slope regr_intercept regr_r2 stddev stddev_pop stddev_samp
string_agg sum total variance variance_pop variance_samp var_pop var_samp
"""
_WINDOWS = """
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
"""
_LOGIC = """
and case cast coalesce equal_null exists filter greatest if ifnull iif isnull least not nullif nvl nvl2 or
try_cast xor likely unlikely collate grouping between
"""
_TEXTS = """
ascii bit_length btrim byte_length char char_length character_length chr concat concat_ws contains ends_with
field format format_number glob hex initcap instr lcase left length levenshtein like lower lpad ltrim
md5 octet_length overlay pad position printf quote regexp_count regexp_instr regexp_i_like regexp_ilike
regexp_like regexp_match regexp_replace regexp_split_to_array regexp_substr replace reverse right rpad
rtrim soundex split_part starts_with str_position strpos substr substring substring_index to_base64
to_hex translate trim ucase unaccent unicode upper
"""
_NUMBERS = """
abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees div exp factorial floor gcd lcm ln log log10 log2
mod pi pow power radians round sign sin sqrt tan trunc truncate width_bucket
"""
_DATES = """
add_months adddate addtime age convert_tz curdate current_date current_datetime current_time
current_timestamp curtime date date_add date_bin date_diff date_format date_part date_sub date_to_date_str
date_trunc datediff datetime datetime_add datetime_diff datetime_sub datetime_trunc day day_of_month
day_of_week day_of_year dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime hour interval
isfinite julianday justify_days justify_hours justify_interval last_day localtime localtimestamp make_date
make_interval make_time make_timestamp makedate maketime microsecond minute month monthname now
period_add period_diff quarter sec_to_time second str_to_date str_to_time strftime subdate subtime sysdate
time time_add time_diff time_format time_str_to_date time_str_to_time time_sub time_to_sec time_to_str
time_to_time_str timediff timestamp timestamp_add timestamp_diff timestamp_sub timestamp_trunc
timestampadd timestampdiff to_char to_date to_days to_number to_timestamp ts_or_ds_add ts_or_ds_diff
ts_or_ds_to_date ts_or_ds_to_date_str ts_or_ds_to_datetime ts_or_ds_to_time ts_or_ds_to_timestamp
number_to_str unix_timestamp unix_to_str unix_to_time unixepoch utc_date utc_time utc_timestamp week
week_of_year weekday weekofyear year yearweek str_to_unix time_to_unix transaction_timestamp
statement_timestamp
"""
_DATA = """
array array_append array_cat array_concat array_contained_by array_contains array_contains_all array_length
array_overlaps array_position array_prepend array_remove array_size array_to_string cardinality
explode exploding_generate_series generate_series json json_array json_array_length json_build_array
json_build_object json_contains json_contains_path json_each json_each_text json_exists json_extract
json_extract_path json_extract_path_text json_extract_scalar json_format json_keys json_length json_object
json_overlaps json_quote json_search json_tree json_type json_typeof json_unquote json_valid json_value
jsonb jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
jsonb_build_object jsonb_contains jsonb_each jsonb_each_text jsonb_exists jsonb_extract
jsonb_extract_path jsonb_extract_path_text jsonb_extract_scalar jsonb_object_keys jsonb_path_exists
jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_typeof json_array_elements
json_array_elements_text json_object_keys parse_json row string_to_array struct to_array to_json to_jsonb
typeof unnest
j_s_o_n_array j_s_o_n_array_agg j_s_o_n_b_contains_all_top_keys j_s_o_n_b_contains_any_top_keys
j_s_o_n_b_contains_top_key j_s_o_n_b_object_agg j_s_o_n_b_path_exists j_s_o_n_cast j_s_o_n_exists
j_s_o_n_object j_s_o_n_object_agg j_s_o_n_value_array match_against
"""
#: Names in lower case, in the spelling of the databases and of sqlglot.
ALLOWED = frozenset(f"{_AGGREGATES} {_WINDOWS} {_LOGIC} {_TEXTS} {_NUMBERS} {_DATES} {_DATA}".split())

#: Columns that functions used as tables give on SQLite and PostgreSQL.
TABLE_COLUMNS = {
    "key",
    "value",
    "type",
    "atom",
    "id",
    "parent",
    "fullkey",
    "path",
    "json",
    "root",
    "ordinality",
}


def function_name(function: exp.Func) -> str:
    """Return the name of a call in lower case, as written where sqlglot does not know the function."""
    if isinstance(function, exp.Anonymous):
        return function.name.lower()
    return function.sql_name().lower()


def allowed(function: exp.Func, extra: frozenset[str]) -> bool:
    """Return whether a query may call ``function``; ``extra`` comes from the settings."""
    if isinstance(function, exp.Anonymous):
        return function.name.lower() in ALLOWED | extra
    names = {name.lower() for name in type(function).sql_names()} - {"anonymous"}
    return bool(names & (ALLOWED | extra))
