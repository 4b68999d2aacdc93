* This program is FINISHED: its optimum is 28.0, that of instance 850cb4598fac40af on 2 scenarios b4e8cbb5f9eeda36.
* Proved by HiGHS 1.15.1 on 3 programs of form price, for tolerances of 1e-09 and 1e-06; 0 near ties excluded, 0 costs stated by rows.
* Ask your solver for a relative gap of 0: the default of most is 0.0001.
* w(1_cloud_old_archive_full) stands for "w[1,cloud,old archive,full]"
* w(1_cloud_old_archive_sensors_full) stands for "w[1,cloud,old archive+sensors,full]"
* w(1_edge_old_archive_full) stands for "w[1,edge,old archive,full]"
* w(1_edge_old_archive_sensors_full) stands for "w[1,edge,old archive+sensors,full]"
* w(2_cloud_old_archive_full) stands for "w[2,cloud,old archive,full]"
* w(2_cloud_old_archive_sensors_full) stands for "w[2,cloud,old archive+sensors,full]"
* w(2_edge_old_archive_full) stands for "w[2,edge,old archive,full]"
* w(2_edge_old_archive_sensors_full) stands for "w[2,edge,old archive+sensors,full]"
* w(3_cloud_old_archive_full) stands for "w[3,cloud,old archive,full]"
* w(3_cloud_old_archive_pruned) stands for "w[3,cloud,old archive,pruned]"
* w(3_cloud_old_archive_sensors_full) stands for "w[3,cloud,old archive+sensors,full]"
* w(3_cloud_old_archive_sensors_pruned) stands for "w[3,cloud,old archive+sensors,pruned]"
* w(3_edge_old_archive_full) stands for "w[3,edge,old archive,full]"
* w(3_edge_old_archive_pruned) stands for "w[3,edge,old archive,pruned]"
* w(3_edge_old_archive_sensors_full) stands for "w[3,edge,old archive+sensors,full]"
* w(3_edge_old_archive_sensors_pruned) stands for "w[3,edge,old archive+sensors,pruned]"
* q(cloud_old_archive) stands for "q[cloud,old archive]"
* q(cloud_old_archive_sensors) stands for "q[cloud,old archive+sensors]"
* q(edge_old_archive) stands for "q[edge,old archive]"
* q(edge_old_archive_sensors) stands for "q[edge,old archive+sensors]"
* eq6_data(1_cloud_old_archive) stands for "eq6_data[1,cloud,old archive]"
* eq6_data(1_cloud_old_archive_sensors) stands for "eq6_data[1,cloud,old archive+sensors]"
* eq6_data(1_edge_old_archive) stands for "eq6_data[1,edge,old archive]"
* eq6_data(1_edge_old_archive_sensors) stands for "eq6_data[1,edge,old archive+sensors]"
* eq6_data(2_cloud_old_archive) stands for "eq6_data[2,cloud,old archive]"
* eq6_data(2_cloud_old_archive_sensors) stands for "eq6_data[2,cloud,old archive+sensors]"
* eq6_data(2_edge_old_archive) stands for "eq6_data[2,edge,old archive]"
* eq6_data(2_edge_old_archive_sensors) stands for "eq6_data[2,edge,old archive+sensors]"
* eq6_data(3_cloud_old_archive) stands for "eq6_data[3,cloud,old archive]"
* eq6_data(3_cloud_old_archive_sensors) stands for "eq6_data[3,cloud,old archive+sensors]"
* eq6_data(3_edge_old_archive) stands for "eq6_data[3,edge,old archive]"
* eq6_data(3_edge_old_archive_sensors) stands for "eq6_data[3,edge,old archive+sensors]"
* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME depl
ROWS
 N  eq2_cost
 E  c_e_epochs_first(1)_
 E  c_e_epochs_first(2)_
 E  c_e_epochs_first(3)_
 L  c_u_eq6_data(1_cloud_old_archive)_
 L  c_u_eq6_data(1_cloud_old_archive_sensors)_
 L  c_u_eq6_data(1_cloud_sensors)_
 L  c_u_eq6_data(1_edge_old_archive)_
 L  c_u_eq6_data(1_edge_old_archive_sensors)_
 L  c_u_eq6_data(1_edge_sensors)_
 L  c_u_eq6_data(2_cloud_old_archive)_
 L  c_u_eq6_data(2_cloud_old_archive_sensors)_
 L  c_u_eq6_data(2_cloud_sensors)_
 L  c_u_eq6_data(2_edge_old_archive)_
 L  c_u_eq6_data(2_edge_old_archive_sensors)_
 L  c_u_eq6_data(2_edge_sensors)_
 L  c_u_eq6_data(3_cloud_old_archive)_
 L  c_u_eq6_data(3_cloud_old_archive_sensors)_
 L  c_u_eq6_data(3_cloud_sensors)_
 L  c_u_eq6_data(3_edge_old_archive)_
 L  c_u_eq6_data(3_edge_old_archive_sensors)_
 L  c_u_eq6_data(3_edge_sensors)_
 L  c_u_eq6_one_subset(cloud)_
 L  c_u_eq6_one_subset(edge)_
 E  c_e_switch_from(2_full)_
 E  c_e_switch_from(2_pruned)_
 E  c_e_switch_from(3_full)_
 E  c_e_switch_from(3_pruned)_
 E  c_e_switch_to(2_full)_
 E  c_e_switch_to(2_pruned)_
 E  c_e_switch_to(3_full)_
 E  c_e_switch_to(3_pruned)_
 G  c_l_eq3_quantile(1)_
 G  c_l_eq3_quantile(2)_
 L  c_u_eq2_price_cuts(1)_
 L  c_u_eq2_price_cuts(2)_
 L  c_u_eq2_price_cuts(3)_
 L  c_u_eq2_price_cuts(4)_
 L  c_u_eq2_price_cuts(5)_
 L  c_u_eq2_price_cuts(6)_
 L  c_u_eq2_price_cuts(7)_
 L  c_u_eq2_price_cuts(8)_
 L  c_u_eq2_price_cuts(9)_
 L  c_u_eq2_price_cuts(10)_
 L  c_u_eq2_price_cuts(11)_
 L  c_u_eq2_price_cuts(12)_
 L  c_u_eq2_price_cuts(13)_
 L  c_u_eq2_price_cuts(14)_
 L  c_u_eq2_price_cuts(15)_
 L  c_u_eq2_price_cuts(16)_
 L  c_u_eq2_price_cuts(17)_
 L  c_u_eq2_price_cuts(18)_
 L  c_u_eq2_price_cuts(19)_
 L  c_u_eq2_price_cuts(20)_
 L  c_u_eq4_time_
COLUMNS
     w(1_cloud_old_archive_full) c_e_epochs_first(1)_ 1
     w(1_cloud_old_archive_full) c_u_eq6_data(1_cloud_old_archive)_ 1
     w(1_cloud_old_archive_full) c_e_switch_from(2_full)_ -1
     w(1_cloud_old_archive_full) c_l_eq3_quantile(1)_ 0.5
     w(1_cloud_old_archive_full) c_l_eq3_quantile(2)_ 0.16666666666666666
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(1_cloud_old_archive_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(1_cloud_old_archive_full) c_u_eq4_time_ 0.13999999999999999
     w(1_cloud_old_archive_sensors_full) c_e_epochs_first(1)_ 1
     w(1_cloud_old_archive_sensors_full) c_u_eq6_data(1_cloud_old_archive_sensors)_ 1
     w(1_cloud_old_archive_sensors_full) c_e_switch_from(2_full)_ -1
     w(1_cloud_old_archive_sensors_full) c_l_eq3_quantile(1)_ 1
     w(1_cloud_old_archive_sensors_full) c_l_eq3_quantile(2)_ 0.33333333333333331
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 12396.19898202034
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 4028.7646691566106
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 1627.0011163901697
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 716.65525364805092
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 334.11630068726697
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 161.00531880944388
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 78.98945152117453
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 39.116423789700413
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1147.6168588823518
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 925.6139357619752
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 818.88305202620461
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 871.85427383265574
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 845.25482392945491
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 832.0142651564031
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 825.38683866587974
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 822.13339469140521
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 823.7595608915932
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 845.10173260951399
     w(1_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 883.22917746894927
     w(1_cloud_old_archive_sensors_full) c_u_eq4_time_ 0.17999999999999999
     w(1_cloud_sensors_full) c_e_epochs_first(1)_ 1
     w(1_cloud_sensors_full) c_u_eq6_data(1_cloud_sensors)_ 1
     w(1_cloud_sensors_full) c_e_switch_from(2_full)_ -1
     w(1_cloud_sensors_full) c_l_eq3_quantile(1)_ 0.5
     w(1_cloud_sensors_full) c_l_eq3_quantile(2)_ 0.16666666666666666
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(1_cloud_sensors_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(1_cloud_sensors_full) c_u_eq4_time_ 0.13999999999999999
     w(1_edge_old_archive_full) c_e_epochs_first(1)_ 1
     w(1_edge_old_archive_full) c_u_eq6_data(1_edge_old_archive)_ 1
     w(1_edge_old_archive_full) c_e_switch_from(2_full)_ -1
     w(1_edge_old_archive_full) c_l_eq3_quantile(1)_ 0.5
     w(1_edge_old_archive_full) c_l_eq3_quantile(2)_ 0.16666666666666666
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(1_edge_old_archive_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(1_edge_old_archive_full) c_u_eq4_time_ 0.5
     w(1_edge_old_archive_sensors_full) c_e_epochs_first(1)_ 1
     w(1_edge_old_archive_sensors_full) c_u_eq6_data(1_edge_old_archive_sensors)_ 1
     w(1_edge_old_archive_sensors_full) c_e_switch_from(2_full)_ -1
     w(1_edge_old_archive_sensors_full) c_l_eq3_quantile(1)_ 1
     w(1_edge_old_archive_sensors_full) c_l_eq3_quantile(2)_ 0.33333333333333331
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 37312.558935881229
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 9421.1112263354589
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 2448.2492989490174
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 705.03381710240683
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 251.79779182228816
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 101.68756977438561
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 44.790953353003182
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 20.882268792954186
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1431.3736012051613
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 1031.0959073683343
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 857.86307878266359
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 942.16745521607822
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 899.41322121126359
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 878.44655871030238
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 868.03162905984357
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 862.93846316274858
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 865.48256009089755
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 899.16959185616258
     w(1_edge_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 960.70542110657641
     w(1_edge_old_archive_sensors_full) c_u_eq4_time_ 0.59999999999999998
     w(1_edge_sensors_full) c_e_epochs_first(1)_ 1
     w(1_edge_sensors_full) c_u_eq6_data(1_edge_sensors)_ 1
     w(1_edge_sensors_full) c_e_switch_from(2_full)_ -1
     w(1_edge_sensors_full) c_l_eq3_quantile(1)_ 0.5
     w(1_edge_sensors_full) c_l_eq3_quantile(2)_ 0.16666666666666666
     w(1_edge_sensors_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(1_edge_sensors_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(1_edge_sensors_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(1_edge_sensors_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(1_edge_sensors_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(1_edge_sensors_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(1_edge_sensors_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(1_edge_sensors_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(1_edge_sensors_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(1_edge_sensors_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(1_edge_sensors_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(1_edge_sensors_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(1_edge_sensors_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(1_edge_sensors_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(1_edge_sensors_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(1_edge_sensors_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(1_edge_sensors_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(1_edge_sensors_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(1_edge_sensors_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(1_edge_sensors_full) c_u_eq4_time_ 0.5
     w(2_cloud_old_archive_full) c_e_epochs_first(2)_ 1
     w(2_cloud_old_archive_full) c_u_eq6_data(2_cloud_old_archive)_ 1
     w(2_cloud_old_archive_full) c_e_switch_from(3_full)_ -1
     w(2_cloud_old_archive_full) c_e_switch_to(2_full)_ -1
     w(2_cloud_old_archive_full) c_l_eq3_quantile(1)_ 0.5
     w(2_cloud_old_archive_full) c_l_eq3_quantile(2)_ 0.5
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(2_cloud_old_archive_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(2_cloud_old_archive_full) c_u_eq4_time_ 0.13999999999999999
     w(2_cloud_old_archive_sensors_full) c_e_epochs_first(2)_ 1
     w(2_cloud_old_archive_sensors_full) c_u_eq6_data(2_cloud_old_archive_sensors)_ 1
     w(2_cloud_old_archive_sensors_full) c_e_switch_from(3_full)_ -1
     w(2_cloud_old_archive_sensors_full) c_e_switch_to(2_full)_ -1
     w(2_cloud_old_archive_sensors_full) c_l_eq3_quantile(1)_ 1
     w(2_cloud_old_archive_sensors_full) c_l_eq3_quantile(2)_ 1
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 12396.19898202034
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 4028.7646691566106
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 1627.0011163901697
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 716.65525364805092
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 334.11630068726697
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 161.00531880944388
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 78.98945152117453
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 39.116423789700413
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1147.6168588823518
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 925.6139357619752
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 818.88305202620461
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 871.85427383265574
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 845.25482392945491
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 832.0142651564031
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 825.38683866587974
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 822.13339469140521
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 823.7595608915932
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 845.10173260951399
     w(2_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 883.22917746894927
     w(2_cloud_old_archive_sensors_full) c_u_eq4_time_ 0.17999999999999999
     w(2_cloud_sensors_full) c_e_epochs_first(2)_ 1
     w(2_cloud_sensors_full) c_u_eq6_data(2_cloud_sensors)_ 1
     w(2_cloud_sensors_full) c_e_switch_from(3_full)_ -1
     w(2_cloud_sensors_full) c_e_switch_to(2_full)_ -1
     w(2_cloud_sensors_full) c_l_eq3_quantile(1)_ 0.5
     w(2_cloud_sensors_full) c_l_eq3_quantile(2)_ 0.5
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(2_cloud_sensors_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(2_cloud_sensors_full) c_u_eq4_time_ 0.13999999999999999
     w(2_edge_old_archive_full) c_e_epochs_first(2)_ 1
     w(2_edge_old_archive_full) c_u_eq6_data(2_edge_old_archive)_ 1
     w(2_edge_old_archive_full) c_e_switch_from(3_full)_ -1
     w(2_edge_old_archive_full) c_e_switch_to(2_full)_ -1
     w(2_edge_old_archive_full) c_l_eq3_quantile(1)_ 0.5
     w(2_edge_old_archive_full) c_l_eq3_quantile(2)_ 0.5
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(2_edge_old_archive_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(2_edge_old_archive_full) c_u_eq4_time_ 0.5
     w(2_edge_old_archive_sensors_full) c_e_epochs_first(2)_ 1
     w(2_edge_old_archive_sensors_full) c_u_eq6_data(2_edge_old_archive_sensors)_ 1
     w(2_edge_old_archive_sensors_full) c_e_switch_from(3_full)_ -1
     w(2_edge_old_archive_sensors_full) c_e_switch_to(2_full)_ -1
     w(2_edge_old_archive_sensors_full) c_l_eq3_quantile(1)_ 1
     w(2_edge_old_archive_sensors_full) c_l_eq3_quantile(2)_ 1
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 37312.558935881229
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 9421.1112263354589
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 2448.2492989490174
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 705.03381710240683
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 251.79779182228816
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 101.68756977438561
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 44.790953353003182
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 20.882268792954186
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1431.3736012051613
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 1031.0959073683343
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 857.86307878266359
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 942.16745521607822
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 899.41322121126359
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 878.44655871030238
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 868.03162905984357
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 862.93846316274858
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 865.48256009089755
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 899.16959185616258
     w(2_edge_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 960.70542110657641
     w(2_edge_old_archive_sensors_full) c_u_eq4_time_ 0.59999999999999998
     w(2_edge_sensors_full) c_e_epochs_first(2)_ 1
     w(2_edge_sensors_full) c_u_eq6_data(2_edge_sensors)_ 1
     w(2_edge_sensors_full) c_e_switch_from(3_full)_ -1
     w(2_edge_sensors_full) c_e_switch_to(2_full)_ -1
     w(2_edge_sensors_full) c_l_eq3_quantile(1)_ 0.5
     w(2_edge_sensors_full) c_l_eq3_quantile(2)_ 0.5
     w(2_edge_sensors_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(2_edge_sensors_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(2_edge_sensors_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(2_edge_sensors_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(2_edge_sensors_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(2_edge_sensors_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(2_edge_sensors_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(2_edge_sensors_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(2_edge_sensors_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(2_edge_sensors_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(2_edge_sensors_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(2_edge_sensors_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(2_edge_sensors_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(2_edge_sensors_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(2_edge_sensors_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(2_edge_sensors_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(2_edge_sensors_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(2_edge_sensors_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(2_edge_sensors_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(2_edge_sensors_full) c_u_eq4_time_ 0.5
     w(3_cloud_old_archive_full) c_e_epochs_first(3)_ 1
     w(3_cloud_old_archive_full) c_u_eq6_data(3_cloud_old_archive)_ 1
     w(3_cloud_old_archive_full) c_e_switch_to(3_full)_ -1
     w(3_cloud_old_archive_full) c_l_eq3_quantile(1)_ 0.16666666666666666
     w(3_cloud_old_archive_full) c_l_eq3_quantile(2)_ 0.5
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(3_cloud_old_archive_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(3_cloud_old_archive_full) c_u_eq4_time_ 0.13999999999999999
     w(3_cloud_old_archive_pruned) c_e_epochs_first(3)_ 1
     w(3_cloud_old_archive_pruned) c_u_eq6_data(3_cloud_old_archive)_ 1
     w(3_cloud_old_archive_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_cloud_old_archive_pruned) c_l_eq3_quantile(1)_ 0.20833333333333334
     w(3_cloud_old_archive_pruned) c_l_eq3_quantile(2)_ 0.20833333333333334
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(2)_ 5578.2895419091537
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(3)_ 2014.3823345783053
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(4)_ 813.50055819508486
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(5)_ 358.32762682402546
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(6)_ 167.05815034363349
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(7)_ 80.502659404721939
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(8)_ 39.494725760587265
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(9)_ 19.558211894850206
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(10)_ 573.80842944117592
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(11)_ 462.8069678809876
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(12)_ 409.4415260131023
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(13)_ 435.92713691632787
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(14)_ 422.62741196472746
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(15)_ 416.00713257820155
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(16)_ 412.69341933293987
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(17)_ 411.06669734570261
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(18)_ 411.8797804457966
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(19)_ 422.55086630475699
     w(3_cloud_old_archive_pruned) c_u_eq2_price_cuts(20)_ 441.61458873447464
     w(3_cloud_old_archive_pruned) c_u_eq4_time_ 0.069999999999999993
     w(3_cloud_old_archive_sensors_full) c_e_epochs_first(3)_ 1
     w(3_cloud_old_archive_sensors_full) c_u_eq6_data(3_cloud_old_archive_sensors)_ 1
     w(3_cloud_old_archive_sensors_full) c_e_switch_to(3_full)_ -1
     w(3_cloud_old_archive_sensors_full) c_l_eq3_quantile(1)_ 0.33333333333333331
     w(3_cloud_old_archive_sensors_full) c_l_eq3_quantile(2)_ 1
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 12396.19898202034
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 4028.7646691566106
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 1627.0011163901697
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 716.65525364805092
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 334.11630068726697
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 161.00531880944388
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 78.98945152117453
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 39.116423789700413
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1147.6168588823518
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 925.6139357619752
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 818.88305202620461
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 871.85427383265574
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 845.25482392945491
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 832.0142651564031
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 825.38683866587974
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 822.13339469140521
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 823.7595608915932
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 845.10173260951399
     w(3_cloud_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 883.22917746894927
     w(3_cloud_old_archive_sensors_full) c_u_eq4_time_ 0.17999999999999999
     w(3_cloud_old_archive_sensors_pruned) c_e_epochs_first(3)_ 1
     w(3_cloud_old_archive_sensors_pruned) c_u_eq6_data(3_cloud_old_archive_sensors)_ 1
     w(3_cloud_old_archive_sensors_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_cloud_old_archive_sensors_pruned) c_l_eq3_quantile(1)_ 0.41666666666666669
     w(3_cloud_old_archive_sensors_pruned) c_l_eq3_quantile(2)_ 0.41666666666666669
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(2)_ 6817.909440111187
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(3)_ 2527.8497086011434
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(4)_ 1070.2342452065038
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(5)_ 486.694470329735
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(6)_ 231.24157209648826
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(7)_ 112.59437028114931
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(8)_ 55.540581198800957
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(9)_ 27.581139613957053
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(10)_ 766.35869469974023
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(11)_ 623.19562644330597
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(12)_ 553.70511037907943
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(13)_ 588.25141918564725
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(14)_ 570.91854974773435
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(15)_ 562.27978384974335
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(16)_ 557.95298606251083
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(17)_ 555.82825863178221
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(18)_ 556.8903151583022
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(19)_ 570.81870738585292
     w(3_cloud_old_archive_sensors_pruned) c_u_eq2_price_cuts(20)_ 595.65480094132602
     w(3_cloud_old_archive_sensors_pruned) c_u_eq4_time_ 0.089999999999999997
     w(3_cloud_sensors_full) c_e_epochs_first(3)_ 1
     w(3_cloud_sensors_full) c_u_eq6_data(3_cloud_sensors)_ 1
     w(3_cloud_sensors_full) c_e_switch_to(3_full)_ -1
     w(3_cloud_sensors_full) c_l_eq3_quantile(1)_ 0.16666666666666666
     w(3_cloud_sensors_full) c_l_eq3_quantile(2)_ 0.5
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(2)_ 9916.9591856162733
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(3)_ 3302.6121449774146
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(4)_ 1263.9248543005717
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(5)_ 535.11712260325191
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(6)_ 243.3472351648675
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(7)_ 115.62078604824413
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(8)_ 56.297185140574655
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(9)_ 27.770290599400479
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(10)_ 875.30966231515333
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(11)_ 698.79011957231683
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(12)_ 614.86353445928444
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(13)_ 656.43520796863675
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(14)_ 635.53948569698935
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(15)_ 625.15349792391828
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(16)_ 619.95878933248093
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(17)_ 617.40963141032762
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(18)_ 618.6836960141934
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(19)_ 635.41934088884955
     w(3_cloud_sensors_full) c_u_eq2_price_cuts(20)_ 665.38342021519043
     w(3_cloud_sensors_full) c_u_eq4_time_ 0.13999999999999999
     w(3_cloud_sensors_pruned) c_e_epochs_first(3)_ 1
     w(3_cloud_sensors_pruned) c_u_eq6_data(3_cloud_sensors)_ 1
     w(3_cloud_sensors_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_cloud_sensors_pruned) c_l_eq3_quantile(1)_ 0.20833333333333334
     w(3_cloud_sensors_pruned) c_l_eq3_quantile(2)_ 0.20833333333333334
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(2)_ 5578.2895419091537
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(3)_ 2014.3823345783053
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(4)_ 813.50055819508486
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(5)_ 358.32762682402546
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(6)_ 167.05815034363349
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(7)_ 80.502659404721939
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(8)_ 39.494725760587265
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(9)_ 19.558211894850206
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(10)_ 573.80842944117592
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(11)_ 462.8069678809876
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(12)_ 409.4415260131023
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(13)_ 435.92713691632787
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(14)_ 422.62741196472746
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(15)_ 416.00713257820155
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(16)_ 412.69341933293987
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(17)_ 411.06669734570261
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(18)_ 411.8797804457966
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(19)_ 422.55086630475699
     w(3_cloud_sensors_pruned) c_u_eq2_price_cuts(20)_ 441.61458873447464
     w(3_cloud_sensors_pruned) c_u_eq4_time_ 0.069999999999999993
     w(3_edge_old_archive_full) c_e_epochs_first(3)_ 1
     w(3_edge_old_archive_full) c_u_eq6_data(3_edge_old_archive)_ 1
     w(3_edge_old_archive_full) c_e_switch_to(3_full)_ -1
     w(3_edge_old_archive_full) c_l_eq3_quantile(1)_ 0.16666666666666666
     w(3_edge_old_archive_full) c_l_eq3_quantile(2)_ 0.5
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(3_edge_old_archive_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(3_edge_old_archive_full) c_u_eq4_time_ 0.5
     w(3_edge_old_archive_pruned) c_e_epochs_first(3)_ 1
     w(3_edge_old_archive_pruned) c_u_eq6_data(3_edge_old_archive)_ 1
     w(3_edge_old_archive_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_edge_old_archive_pruned) c_l_eq3_quantile(1)_ 0.20833333333333334
     w(3_edge_old_archive_pruned) c_l_eq3_quantile(2)_ 0.20833333333333334
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(2)_ 15619.21071734563
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(3)_ 3997.7741717015597
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(4)_ 1092.4150352905426
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(5)_ 348.64309636932211
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(6)_ 125.89889591114408
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(7)_ 50.843784887192804
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(8)_ 22.395476676501591
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(9)_ 10.441134396477093
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(10)_ 668.23260137453394
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(11)_ 495.98420989203203
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(12)_ 418.77524728726871
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(13)_ 456.60682919862739
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(14)_ 437.48698180475628
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(15)_ 428.06156554871296
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(16)_ 423.36702111136503
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(17)_ 421.06815339776028
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(18)_ 422.21672321851742
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(19)_ 437.37765041286656
     w(3_edge_old_archive_pruned) c_u_eq2_price_cuts(20)_ 464.85746182576275
     w(3_edge_old_archive_pruned) c_u_eq4_time_ 0.25
     w(3_edge_old_archive_sensors_full) c_e_epochs_first(3)_ 1
     w(3_edge_old_archive_sensors_full) c_u_eq6_data(3_edge_old_archive_sensors)_ 1
     w(3_edge_old_archive_sensors_full) c_e_switch_to(3_full)_ -1
     w(3_edge_old_archive_sensors_full) c_l_eq3_quantile(1)_ 0.33333333333333331
     w(3_edge_old_archive_sensors_full) c_l_eq3_quantile(2)_ 1
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(2)_ 37312.558935881229
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(3)_ 9421.1112263354589
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(4)_ 2448.2492989490174
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(5)_ 705.03381710240683
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(6)_ 251.79779182228816
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(7)_ 101.68756977438561
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(8)_ 44.790953353003182
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(9)_ 20.882268792954186
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(10)_ 1431.3736012051613
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(11)_ 1031.0959073683343
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(12)_ 857.86307878266359
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(13)_ 942.16745521607822
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(14)_ 899.41322121126359
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(15)_ 878.44655871030238
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(16)_ 868.03162905984357
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(17)_ 862.93846316274858
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(18)_ 865.48256009089755
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(19)_ 899.16959185616258
     w(3_edge_old_archive_sensors_full) c_u_eq2_price_cuts(20)_ 960.70542110657641
     w(3_edge_old_archive_sensors_full) c_u_eq4_time_ 0.59999999999999998
     w(3_edge_old_archive_sensors_pruned) c_e_epochs_first(3)_ 1
     w(3_edge_old_archive_sensors_pruned) c_u_eq6_data(3_edge_old_archive_sensors)_ 1
     w(3_edge_old_archive_sensors_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_edge_old_archive_sensors_pruned) c_l_eq3_quantile(1)_ 0.41666666666666669
     w(3_edge_old_archive_sensors_pruned) c_l_eq3_quantile(2)_ 0.41666666666666669
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(2)_ 18718.260462850714
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(3)_ 4772.5366080778313
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(4)_ 1286.1056443846103
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(5)_ 412.82651812217682
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(6)_ 157.99060678757147
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(7)_ 66.889640325406489
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(8)_ 30.418404395608437
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(9)_ 14.452598256030516
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(10)_ 777.66779551268235
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(11)_ 577.52894859426885
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(12)_ 490.90703947025725
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(13)_ 533.0647225181408
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(14)_ 511.68760551573348
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(15)_ 501.20427426525293
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(16)_ 495.99680944002353
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(17)_ 493.44893404080005
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(18)_ 494.72199057477019
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(19)_ 511.56579083818292
     w(3_edge_old_archive_sensors_pruned) c_u_eq2_price_cuts(20)_ 542.33370546338995
     w(3_edge_old_archive_sensors_pruned) c_u_eq4_time_ 0.29999999999999999
     w(3_edge_sensors_full) c_e_epochs_first(3)_ 1
     w(3_edge_sensors_full) c_u_eq6_data(3_edge_sensors)_ 1
     w(3_edge_sensors_full) c_e_switch_to(3_full)_ -1
     w(3_edge_sensors_full) c_l_eq3_quantile(1)_ 0.16666666666666666
     w(3_edge_sensors_full) c_l_eq3_quantile(2)_ 0.5
     w(3_edge_sensors_full) c_u_eq2_price_cuts(2)_ 31114.459444871056
     w(3_edge_sensors_full) c_u_eq2_price_cuts(3)_ 7871.5863535829167
     w(3_edge_sensors_full) c_u_eq2_price_cuts(4)_ 2060.8680807608816
     w(3_edge_sensors_full) c_u_eq2_price_cuts(5)_ 606.51712721624472
     w(3_edge_sensors_full) c_u_eq2_price_cuts(6)_ 206.41325906108841
     w(3_edge_sensors_full) c_u_eq2_price_cuts(7)_ 78.995303393785733
     w(3_edge_sensors_full) c_u_eq2_price_cuts(8)_ 33.444820162703245
     w(3_edge_sensors_full) c_u_eq2_price_cuts(9)_ 15.209202197804219
     w(3_edge_sensors_full) c_u_eq2_price_cuts(10)_ 1213.4716659743349
     w(3_edge_sensors_full) c_u_eq2_price_cuts(11)_ 879.90692111031251
     w(3_edge_sensors_full) c_u_eq2_price_cuts(12)_ 735.5407357910774
     w(3_edge_sensors_full) c_u_eq2_price_cuts(13)_ 805.79987765009901
     w(3_edge_sensors_full) c_u_eq2_price_cuts(14)_ 770.17134931275348
     w(3_edge_sensors_full) c_u_eq2_price_cuts(15)_ 752.69913056195253
     w(3_edge_sensors_full) c_u_eq2_price_cuts(16)_ 744.02002251990359
     w(3_edge_sensors_full) c_u_eq2_price_cuts(17)_ 739.77442515498183
     w(3_edge_sensors_full) c_u_eq2_price_cuts(18)_ 741.89551399833488
     w(3_edge_sensors_full) c_u_eq2_price_cuts(19)_ 769.96832485016944
     w(3_edge_sensors_full) c_u_eq2_price_cuts(20)_ 821.24818255884759
     w(3_edge_sensors_full) c_u_eq4_time_ 0.5
     w(3_edge_sensors_pruned) c_e_epochs_first(3)_ 1
     w(3_edge_sensors_pruned) c_u_eq6_data(3_edge_sensors)_ 1
     w(3_edge_sensors_pruned) c_e_switch_to(3_pruned)_ -1
     w(3_edge_sensors_pruned) c_l_eq3_quantile(1)_ 0.20833333333333334
     w(3_edge_sensors_pruned) c_l_eq3_quantile(2)_ 0.20833333333333334
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(2)_ 15619.21071734563
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(3)_ 3997.7741717015597
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(4)_ 1092.4150352905426
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(5)_ 348.64309636932211
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(6)_ 125.89889591114408
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(7)_ 50.843784887192804
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(8)_ 22.395476676501591
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(9)_ 10.441134396477093
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(10)_ 668.23260137453394
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(11)_ 495.98420989203203
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(12)_ 418.77524728726871
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(13)_ 456.60682919862739
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(14)_ 437.48698180475628
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(15)_ 428.06156554871296
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(16)_ 423.36702111136503
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(17)_ 421.06815339776028
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(18)_ 422.21672321851742
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(19)_ 437.37765041286656
     w(3_edge_sensors_pruned) c_u_eq2_price_cuts(20)_ 464.85746182576275
     w(3_edge_sensors_pruned) c_u_eq4_time_ 0.25
     q(cloud_old_archive) c_u_eq6_data(1_cloud_old_archive)_ -1
     q(cloud_old_archive) c_u_eq6_data(2_cloud_old_archive)_ -1
     q(cloud_old_archive) c_u_eq6_data(3_cloud_old_archive)_ -1
     q(cloud_old_archive) c_u_eq6_one_subset(cloud)_ 1
     q(cloud_old_archive_sensors) eq2_cost 1
     q(cloud_old_archive_sensors) c_u_eq6_data(1_cloud_old_archive_sensors)_ -1
     q(cloud_old_archive_sensors) c_u_eq6_data(2_cloud_old_archive_sensors)_ -1
     q(cloud_old_archive_sensors) c_u_eq6_data(3_cloud_old_archive_sensors)_ -1
     q(cloud_old_archive_sensors) c_u_eq6_one_subset(cloud)_ 1
     q(cloud_sensors) eq2_cost 1
     q(cloud_sensors) c_u_eq6_data(1_cloud_sensors)_ -1
     q(cloud_sensors) c_u_eq6_data(2_cloud_sensors)_ -1
     q(cloud_sensors) c_u_eq6_data(3_cloud_sensors)_ -1
     q(cloud_sensors) c_u_eq6_one_subset(cloud)_ 1
     q(edge_old_archive) eq2_cost 2
     q(edge_old_archive) c_u_eq6_data(1_edge_old_archive)_ -1
     q(edge_old_archive) c_u_eq6_data(2_edge_old_archive)_ -1
     q(edge_old_archive) c_u_eq6_data(3_edge_old_archive)_ -1
     q(edge_old_archive) c_u_eq6_one_subset(edge)_ 1
     q(edge_old_archive_sensors) eq2_cost 2
     q(edge_old_archive_sensors) c_u_eq6_data(1_edge_old_archive_sensors)_ -1
     q(edge_old_archive_sensors) c_u_eq6_data(2_edge_old_archive_sensors)_ -1
     q(edge_old_archive_sensors) c_u_eq6_data(3_edge_old_archive_sensors)_ -1
     q(edge_old_archive_sensors) c_u_eq6_one_subset(edge)_ 1
     q(edge_sensors) c_u_eq6_data(1_edge_sensors)_ -1
     q(edge_sensors) c_u_eq6_data(2_edge_sensors)_ -1
     q(edge_sensors) c_u_eq6_data(3_edge_sensors)_ -1
     q(edge_sensors) c_u_eq6_one_subset(edge)_ 1
     v(2_full_full) c_e_switch_from(2_full)_ 1
     v(2_full_full) c_e_switch_to(2_full)_ 1
     v(2_full_pruned) c_e_switch_from(2_full)_ 1
     v(2_full_pruned) c_e_switch_to(2_pruned)_ 1
     v(2_full_pruned) c_l_eq3_quantile(1)_ -0.041666666666666664
     v(2_full_pruned) c_l_eq3_quantile(2)_ -0.041666666666666664
     v(2_pruned_pruned) c_e_switch_from(2_pruned)_ 1
     v(2_pruned_pruned) c_e_switch_to(2_pruned)_ 1
     v(3_full_full) c_e_switch_from(3_full)_ 1
     v(3_full_full) c_e_switch_to(3_full)_ 1
     v(3_full_pruned) c_e_switch_from(3_full)_ 1
     v(3_full_pruned) c_e_switch_to(3_pruned)_ 1
     v(3_full_pruned) c_l_eq3_quantile(1)_ -0.041666666666666664
     v(3_full_pruned) c_l_eq3_quantile(2)_ -0.083333333333333329
     v(3_pruned_pruned) c_e_switch_from(3_pruned)_ 1
     v(3_pruned_pruned) c_e_switch_to(3_pruned)_ 1
     stop(2_full) c_e_switch_from(2_full)_ 1
     stop(2_pruned) c_e_switch_from(2_pruned)_ 1
     stop(3_full) c_e_switch_from(3_full)_ 1
     stop(3_pruned) c_e_switch_from(3_pruned)_ 1
     theta eq2_cost 0.032267955732250414
     theta c_u_eq2_price_cuts(1)_ -1
     theta c_u_eq2_price_cuts(2)_ -1
     theta c_u_eq2_price_cuts(3)_ -1
     theta c_u_eq2_price_cuts(4)_ -1
     theta c_u_eq2_price_cuts(5)_ -1
     theta c_u_eq2_price_cuts(6)_ -1
     theta c_u_eq2_price_cuts(7)_ -1
     theta c_u_eq2_price_cuts(8)_ -1
     theta c_u_eq2_price_cuts(9)_ -1
     theta c_u_eq2_price_cuts(10)_ -1
     theta c_u_eq2_price_cuts(11)_ -1
     theta c_u_eq2_price_cuts(12)_ -1
     theta c_u_eq2_price_cuts(13)_ -1
     theta c_u_eq2_price_cuts(14)_ -1
     theta c_u_eq2_price_cuts(15)_ -1
     theta c_u_eq2_price_cuts(16)_ -1
     theta c_u_eq2_price_cuts(17)_ -1
     theta c_u_eq2_price_cuts(18)_ -1
     theta c_u_eq2_price_cuts(19)_ -1
     theta c_u_eq2_price_cuts(20)_ -1
RHS
     RHS c_e_epochs_first(1)_ 1
     RHS c_e_epochs_first(2)_ 1
     RHS c_e_epochs_first(3)_ 1
     RHS c_u_eq6_data(1_cloud_old_archive)_ 0
     RHS c_u_eq6_data(1_cloud_old_archive_sensors)_ 0
     RHS c_u_eq6_data(1_cloud_sensors)_ 0
     RHS c_u_eq6_data(1_edge_old_archive)_ 0
     RHS c_u_eq6_data(1_edge_old_archive_sensors)_ 0
     RHS c_u_eq6_data(1_edge_sensors)_ 0
     RHS c_u_eq6_data(2_cloud_old_archive)_ 0
     RHS c_u_eq6_data(2_cloud_old_archive_sensors)_ 0
     RHS c_u_eq6_data(2_cloud_sensors)_ 0
     RHS c_u_eq6_data(2_edge_old_archive)_ 0
     RHS c_u_eq6_data(2_edge_old_archive_sensors)_ 0
     RHS c_u_eq6_data(2_edge_sensors)_ 0
     RHS c_u_eq6_data(3_cloud_old_archive)_ 0
     RHS c_u_eq6_data(3_cloud_old_archive_sensors)_ 0
     RHS c_u_eq6_data(3_cloud_sensors)_ 0
     RHS c_u_eq6_data(3_edge_old_archive)_ 0
     RHS c_u_eq6_data(3_edge_old_archive_sensors)_ 0
     RHS c_u_eq6_data(3_edge_sensors)_ 0
     RHS c_u_eq6_one_subset(cloud)_ 1
     RHS c_u_eq6_one_subset(edge)_ 1
     RHS c_e_switch_from(2_full)_ 0
     RHS c_e_switch_from(2_pruned)_ 0
     RHS c_e_switch_from(3_full)_ 0
     RHS c_e_switch_from(3_pruned)_ 0
     RHS c_e_switch_to(2_full)_ 0
     RHS c_e_switch_to(2_pruned)_ 0
     RHS c_e_switch_to(3_full)_ 0
     RHS c_e_switch_to(3_pruned)_ 0
     RHS c_l_eq3_quantile(1)_ 1.4166666665000001
     RHS c_l_eq3_quantile(2)_ 1.4166666665000001
     RHS c_u_eq2_price_cuts(1)_ 0
     RHS c_u_eq2_price_cuts(2)_ 61980.994972082706
     RHS c_u_eq2_price_cuts(3)_ 15495.248743020677
     RHS c_u_eq2_price_cuts(4)_ 3873.8121857551691
     RHS c_u_eq2_price_cuts(5)_ 968.45304643879228
     RHS c_u_eq2_price_cuts(6)_ 242.11326160969807
     RHS c_u_eq2_price_cuts(7)_ 60.528315402424518
     RHS c_u_eq2_price_cuts(8)_ 15.132078850606129
     RHS c_u_eq2_price_cuts(9)_ 3.7830197126515324
     RHS c_u_eq2_price_cuts(10)_ 2179.0193544872827
     RHS c_u_eq2_price_cuts(11)_ 1511.8898640921082
     RHS c_u_eq2_price_cuts(12)_ 1223.1684828272689
     RHS c_u_eq2_price_cuts(13)_ 1363.6757770234672
     RHS c_u_eq2_price_cuts(14)_ 1292.418720277519
     RHS c_u_eq2_price_cuts(15)_ 1257.4742827409727
     RHS c_u_eq2_price_cuts(16)_ 1240.1160666395165
     RHS c_u_eq2_price_cuts(17)_ 1231.6274568025362
     RHS c_u_eq2_price_cuts(18)_ 1235.8676183536913
     RHS c_u_eq2_price_cuts(19)_ 1292.0126700599321
     RHS c_u_eq2_price_cuts(20)_ 1394.5723854772884
     RHS c_u_eq4_time_ 1.0000000010000001
BOUNDS
 BV BOUND w(1_cloud_old_archive_full)
 BV BOUND w(1_cloud_old_archive_sensors_full)
 BV BOUND w(1_cloud_sensors_full)
 BV BOUND w(1_edge_old_archive_full)
 BV BOUND w(1_edge_old_archive_sensors_full)
 BV BOUND w(1_edge_sensors_full)
 BV BOUND w(2_cloud_old_archive_full)
 BV BOUND w(2_cloud_old_archive_sensors_full)
 BV BOUND w(2_cloud_sensors_full)
 BV BOUND w(2_edge_old_archive_full)
 BV BOUND w(2_edge_old_archive_sensors_full)
 BV BOUND w(2_edge_sensors_full)
 BV BOUND w(3_cloud_old_archive_full)
 BV BOUND w(3_cloud_old_archive_pruned)
 BV BOUND w(3_cloud_old_archive_sensors_full)
 BV BOUND w(3_cloud_old_archive_sensors_pruned)
 BV BOUND w(3_cloud_sensors_full)
 BV BOUND w(3_cloud_sensors_pruned)
 BV BOUND w(3_edge_old_archive_full)
 BV BOUND w(3_edge_old_archive_pruned)
 BV BOUND w(3_edge_old_archive_sensors_full)
 BV BOUND w(3_edge_old_archive_sensors_pruned)
 BV BOUND w(3_edge_sensors_full)
 BV BOUND w(3_edge_sensors_pruned)
 BV BOUND q(cloud_old_archive)
 BV BOUND q(cloud_old_archive_sensors)
 BV BOUND q(cloud_sensors)
 BV BOUND q(edge_old_archive)
 BV BOUND q(edge_old_archive_sensors)
 BV BOUND q(edge_sensors)
 LO BOUND v(2_full_full) 0
 UP BOUND v(2_full_full) 1
 LO BOUND v(2_full_pruned) 0
 UP BOUND v(2_full_pruned) 1
 LO BOUND v(2_pruned_pruned) 0
 UP BOUND v(2_pruned_pruned) 1
 LO BOUND v(3_full_full) 0
 UP BOUND v(3_full_full) 1
 LO BOUND v(3_full_pruned) 0
 UP BOUND v(3_full_pruned) 1
 LO BOUND v(3_pruned_pruned) 0
 UP BOUND v(3_pruned_pruned) 1
 LO BOUND stop(2_full) 0
 UP BOUND stop(2_full) 1
 LO BOUND stop(2_pruned) 0
 UP BOUND stop(2_pruned) 1
 LO BOUND stop(3_full) 0
 UP BOUND stop(3_full) 1
 LO BOUND stop(3_pruned) 0
 UP BOUND stop(3_pruned) 1
 LO BOUND theta 0
ENDATA
