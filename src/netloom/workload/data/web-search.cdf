# Flow sizes in bytes and cumulative percent, linear in between.
# Source: WebSearch_distribution.txt of the traffic generator of the HPCC artefact (Li et al.,
# SIGCOMM 2019), after the web search cluster of Alizadeh et al., DCTCP (SIGCOMM 2010).
0 0
10000 15
20000 20
30000 30
50000 40
80000 53
200000 60
1000000 70
2000000 80
5000000 90
10000000 97
30000000 100
