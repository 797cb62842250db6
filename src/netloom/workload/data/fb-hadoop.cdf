# Flow sizes in bytes and cumulative percent, linear in between.
# Source: FbHdp_distribution.txt of the traffic generator of the HPCC artefact (Li et al.,
# SIGCOMM 2019), after the Hadoop cluster of Roy et al., Inside the social network's (datacenter)
# network (SIGCOMM 2015).
0 0
100 1
200 2
300 5
350 15
400 20
500 30
600 40
700 50
1000 60
2000 67
7000 70
30000 72
50000 82
80000 87
120000 90
300000 95
1000000 97.5
2000000 99
10000000 100
